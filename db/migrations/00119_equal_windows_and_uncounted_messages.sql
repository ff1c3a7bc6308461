-- cost_growth compares as many quarters of an hour with as many before them also for a period that is no multiple of a quarter: it is rounded up. 40 minutes
-- were two quarters against three, so that a steady cost was 0.67 and not 1.
do $do$
declare
    changed constant regprocedure := 'gateway.alert_value(text,interval,integer)';
    definition text := pg_get_functiondef(changed);
    old text;
    new text;
begin
    for old, new in values
        (E'    figures record;\n',
            E'    compared constant interval := ceil(extract(epoch from period) / 900) * interval ''15 minutes'';\n    figures record;\n'),
        ('quarter - 2 * period', 'quarter - 2 * compared'),
        ('quarter - period', 'quarter - compared')
    loop
        if position(old in definition) = 0 then
            raise exception '% has not the text that is replaced', changed;
        end if;
        definition := replace(definition, old, new);
    end loop;
    execute definition;
end $do$;

-- Takes back the count of a message whose turn began on `day` and was rejected before its model call, as gateway.refuse does for those that do not begin. In a
-- transaction of its own, because the end of a turn must not wait for the row that counting locks.
create function gateway.give_back_message(uid uuid, day date) returns void
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(uid);
    update public.rate_limits r set messages = r.messages - 1 where r.user_id = gateway.user_id() and r.day = $2 and r.messages > 0;
end $$;

revoke all on function gateway.give_back_message(uuid, date) from public, anon, authenticated;
grant execute on function gateway.give_back_message(uuid, date) to coach_gateway;
