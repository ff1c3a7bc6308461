-- Settings of the gateway's sessions, as settings of its role: a transaction pooler drops or refuses the start-up options by which a direct
-- connection asks for them. In this database only, so that gateways of several databases in one cluster keep their own.
--
-- No JIT: every statement of the gateway is short, and one that is compiled takes 100 ms and more. The functions with `enable_seqscan = off` made
-- it compile each time: a table without an index to use has an estimated cost of 1e10 there.
--
-- statement_timeout is DESIGN's limit of a statement. Turn functions wait for locks for 100 ms; lock_timeout holds for everything else. The
-- gateway never leaves a transaction open between two messages, so an idle one belongs to a process that is gone.
do $$
begin
    execute format('alter role coach_gateway in database %I set jit = off', current_database());
    execute format('alter role coach_gateway in database %I set statement_timeout = %L', current_database(), '2s');
    execute format('alter role coach_gateway in database %I set lock_timeout = %L', current_database(), '1s');
    execute format('alter role coach_gateway in database %I set idle_in_transaction_session_timeout = %L', current_database(), '10s');
end $$;
