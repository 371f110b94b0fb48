-- The table of the state record of reconciler: one row for each line of a journal, which the database itself chains.
-- Of two rows with one number one is refused, and so is a row that does not follow the row before it.

CREATE TABLE reconciler_journal (
    target    text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL CHECK (seq >= 1),
    hash      text COLLATE "C" NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    prev_seq  bigint,
    prev_hash text COLLATE "C",
    line      bytea NOT NULL,
    PRIMARY KEY (target, seq),
    UNIQUE (target, seq, hash),
    FOREIGN KEY (target, prev_seq, prev_hash) REFERENCES reconciler_journal (target, seq, hash),
    CHECK (
        (seq = 1 AND prev_seq IS NULL AND prev_hash IS NULL)
        OR (seq > 1 AND prev_seq IS NOT NULL AND prev_seq = seq - 1 AND prev_hash IS NOT NULL)
    )
);

-- Made by another role than the one that reconciler uses, it can be neither changed nor shortened by that one:
-- GRANT USAGE ON SCHEMA public TO reconciler;
-- GRANT SELECT, INSERT ON reconciler_journal TO reconciler;
