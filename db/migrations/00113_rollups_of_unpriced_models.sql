-- migrate: no transaction
-- Each day is committed, and gateways that run go on meanwhile. One that is broken off can be called again.
call gateway.rebuild_rollups();
