"""Bringing a damaged store back. It works on copies, and puts one in the place of the store when all is well."""
