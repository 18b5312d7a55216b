-- The store as Hermes Agent 0.17.0 creates it: schema version 16.
--
-- Explanations stand outside the statements, so that the stored CREATE texts are those of the release, byte for byte.
-- The triggers alone differ, in two things. Those for updates fire for the indexed columns only. And the NUL that begins
-- a list of parts stays out of the index: releases of SQLite do not agree on how the trigram tokenizer reads past it
-- (3.40 stops, 3.54 goes on), and an index that one of them wrote is damaged when the other deletes the row.

-- One row, the version. It decides nothing when reading: columns are looked up, not assumed.
CREATE TABLE schema_version (
    version INTEGER NOT NULL
);

INSERT INTO schema_version (version) VALUES (16);

-- A session: one run of an agent, or one link of a conversation that was compressed.
--   id                   opaque text, never holds a "/"
--   source               where it was held: cli, tui, telegram, cron, acp, subagent ...
--   user_id              the person on a messaging platform
--   model_config         JSON; holds the markers _branched_from and _delegate_from (ids of sessions)
--   system_prompt        what the agent was told first; never shown or exported
--   parent_session_id    the session it continues, branches from or was started by
--   started_at, ended_at epoch seconds; ended_at is NULL while it is open
--   end_reason           compression, branched, cli_close, cron_complete ...; the first one stays
--   message_count        rows ever appended, of every role; a rewind does not lower it
--   tool_call_count      calls in assistant rows
--   *_tokens             disjoint, except that reasoning is part of output
--   billing_*            the route the tokens were billed on; the first one stays
--   estimated_cost_usd   from a price table; 0 with status "unknown" means: not known
--   actual_cost_usd      from the provider; NULL if it never said
--   cost_status          actual, estimated, included, unknown
--   title                unique where there is one
--   handoff_*            a request to carry the session to another platform
--   rewind_count         how often a person took messages back
--   archived             1 = hidden from lists, nothing deleted
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    user_id TEXT,
    model TEXT,
    model_config TEXT,
    system_prompt TEXT,
    parent_session_id TEXT,
    started_at REAL NOT NULL,
    ended_at REAL,
    end_reason TEXT,
    message_count INTEGER DEFAULT 0,
    tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0,
    output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0,
    cache_write_tokens INTEGER DEFAULT 0,
    reasoning_tokens INTEGER DEFAULT 0,
    cwd TEXT,
    billing_provider TEXT,
    billing_base_url TEXT,
    billing_mode TEXT,
    estimated_cost_usd REAL,
    actual_cost_usd REAL,
    cost_status TEXT,
    cost_source TEXT,
    pricing_version TEXT,
    title TEXT,
    api_call_count INTEGER DEFAULT 0,
    handoff_state TEXT,
    handoff_platform TEXT,
    handoff_error TEXT,
    rewind_count INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
);

-- A message. The order of a transcript is that of the ids; clocks go back, ids do not.
--   role                 user, assistant, tool, system, session_meta
--   content              text, or NUL "json:" and JSON for a list of parts (text, images)
--   tool_calls           JSON list of {id, type, function: {name, arguments}}, on assistant rows
--   tool_call_id, _name  on tool rows: the call this is the result of
--   timestamp            epoch seconds
--   finish_reason        stop, tool_calls, length, error ...
--   reasoning*, codex_*  what the model thought, in the shapes providers send it
--   platform_message_id  the messaging platform's own id
--   observed             1 = overheard in a group chat, not addressed to the agent
--   active               0 = taken back by a rewind
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT,
    tool_calls TEXT,
    tool_name TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER,
    finish_reason TEXT,
    reasoning TEXT,
    reasoning_content TEXT,
    reasoning_details TEXT,
    codex_reasoning_items TEXT,
    codex_message_items TEXT,
    platform_message_id TEXT,
    observed INTEGER DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 1
);

-- Single facts about the whole store.
CREATE TABLE state_meta (
    key TEXT PRIMARY KEY,
    value TEXT
);

-- Who is compressing a session now, so that two agents never continue it twice.
CREATE TABLE compression_locks (
    session_id TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    acquired_at REAL NOT NULL,
    expires_at REAL NOT NULL
);

CREATE INDEX idx_sessions_source ON sessions(source);
CREATE INDEX idx_sessions_source_id ON sessions(source, id);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX idx_sessions_started ON sessions(started_at DESC);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
CREATE INDEX idx_compression_locks_expires ON compression_locks(expires_at);
CREATE INDEX idx_messages_platform_msg_id ON messages(session_id, platform_message_id) WHERE platform_message_id IS NOT NULL;
CREATE INDEX idx_messages_session_active
    ON messages(session_id, active, timestamp);
CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL;

-- Words of every message. The index keeps a copy of its own of the text: content, tool name and tool calls,
-- parted by blanks. length() is 0 for an empty text and for one that begins with NUL.
CREATE VIRTUAL TABLE messages_fts USING fts5(
    content
);

CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, content) VALUES (
        new.id,
        CASE length(new.content) WHEN 0 THEN CAST(substr(CAST(new.content AS BLOB), 2) AS TEXT)
            ELSE COALESCE(new.content, '') END
        || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END;

CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
    DELETE FROM messages_fts WHERE rowid = old.id;
END;

CREATE TRIGGER messages_fts_update AFTER UPDATE OF content, tool_name, tool_calls ON messages BEGIN
    DELETE FROM messages_fts WHERE rowid = old.id;
    INSERT INTO messages_fts(rowid, content) VALUES (
        new.id,
        CASE length(new.content) WHEN 0 THEN CAST(substr(CAST(new.content AS BLOB), 2) AS TEXT)
            ELSE COALESCE(new.content, '') END
        || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END;

-- The same text in pieces of three characters: finds parts of words, and scripts without blanks.
CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
    content,
    tokenize='trigram'
);

CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts_trigram(rowid, content) VALUES (
        new.id,
        CASE length(new.content) WHEN 0 THEN CAST(substr(CAST(new.content AS BLOB), 2) AS TEXT)
            ELSE COALESCE(new.content, '') END
        || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END;

CREATE TRIGGER messages_fts_trigram_delete AFTER DELETE ON messages BEGIN
    DELETE FROM messages_fts_trigram WHERE rowid = old.id;
END;

CREATE TRIGGER messages_fts_trigram_update AFTER UPDATE OF content, tool_name, tool_calls ON messages BEGIN
    DELETE FROM messages_fts_trigram WHERE rowid = old.id;
    INSERT INTO messages_fts_trigram(rowid, content) VALUES (
        new.id,
        CASE length(new.content) WHEN 0 THEN CAST(substr(CAST(new.content AS BLOB), 2) AS TEXT)
            ELSE COALESCE(new.content, '') END
        || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );
END;
