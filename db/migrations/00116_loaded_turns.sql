-- What a stream of a loaded turn also needs: the user's level now, for the resources beside an error, and whether its instance crashed, so that a client may
-- have read more than was saved.

do $do$
declare
    changed constant regprocedure := 'gateway.load_turn(uuid,uuid)';
    old constant text := '''disclosure'', t.disclosure)';
    new constant text := '''disclosure'', t.disclosure,
            ''safety_level'', coalesce(
                (select max(gateway.level_at(s.level, s.raised_at, clock_timestamp())) from public.safety_states s where s.user_id = gateway.user_id()),
                0),
            ''ended_by_crash'', t.status <> ''running'' and t.finalized_by is not distinct from ''recovery'')';
begin
    if position(old in pg_get_functiondef(changed)) = 0 then
        raise exception '% has not the text that is replaced', changed;
    end if;
    execute replace(pg_get_functiondef(changed), old, new);
end $do$;
