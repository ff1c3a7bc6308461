-- While releases with other rules ran beside each other, each began the alerts of its own rules and resolved the others', as those of rules that are gone.

-- The alerts by these rules: as in gateway.evaluate_alerts of 00042, under its lock.
create function gateway.update_alerts(rules jsonb, delivery text) returns void
    language plpgsql set search_path = '' set jit = off as $$
declare
    found record;
    alert gateway.alerts;
begin
    for found in
        select r.id, r.measure, r.above, r.severity, gateway.alert_value(r.measure, make_interval(mins => r.window_minutes), r.minimum) as value
        from jsonb_to_recordset(rules) as r (
            id text, measure text, above double precision, window_minutes integer, minimum integer, severity text)
    loop
        alert := null;
        if found.value > found.above then
            insert into gateway.alerts as a (rule, measure, severity, threshold, value)
            values (found.id, found.measure, found.severity, found.above, found.value)
            on conflict (rule) where resolved_at is null do nothing
            returning * into alert;
            if alert.id is null then
                update gateway.alerts a set value = found.value, threshold = found.above, severity = found.severity
                where a.rule = found.id and a.resolved_at is null and a.value is distinct from found.value;
                continue;
            end if;
        else
            update gateway.alerts a set resolved_at = clock_timestamp(), value = coalesce(found.value, a.value)
            where a.rule = found.id and a.resolved_at is null
            returning * into alert;
        end if;
        if alert.id is not null then
            perform gateway.deliver_alert(alert, delivery);
        end if;
    end loop;
    for alert in
        update gateway.alerts a set resolved_at = clock_timestamp()
        where a.resolved_at is null and not exists (select from jsonb_array_elements(rules) as r where r ->> 'id' = a.rule)
        returning *
    loop
        perform gateway.deliver_alert(alert, delivery);
    end loop;
end $$;

-- Compares the rules with what they measure: alerts begin, go on or are resolved; those of rules that are gone are resolved. Returns the rules that
-- fire. While another instance evaluates, nothing is changed; nor while one of a newer release has evaluated within the last minute. Where instances of one
-- release have other rules, as for a moment after an edit, the same one of them decides each time.
--
-- release: the number of the release's newest migration. rules, delivery: as in 00042.
create function gateway.evaluate_alerts_2(instance uuid, release integer, rules jsonb, delivery text) returns setof text
    language plpgsql security definer set search_path = '' set jit = off as $$
declare
    rank constant double precision := release * 2 ^ 32 + (hashtext(rules::text)::bigint + 2147483648);
begin
    perform gateway.note_readings(instance, array['alert_rules'], array[rank]);
    if pg_try_advisory_xact_lock(hashtextextended('gateway.evaluate_alerts', 0)) and not exists (
        select from gateway.instance_readings r
        where r.measure = 'alert_rules' and r.value > rank and r.at > clock_timestamp() - interval '1 minute')
    then
        perform gateway.update_alerts(rules, delivery);
    end if;
    return query select a.rule from gateway.alerts a where a.resolved_at is null order by 1;
end $$;

-- For releases before this migration: while a newer one evaluates, they change nothing.
create or replace function gateway.evaluate_alerts(rules jsonb, delivery text) returns setof text
    language plpgsql security definer set search_path = '' set jit = off as $$
begin
    if pg_try_advisory_xact_lock(hashtextextended('gateway.evaluate_alerts', 0)) and not exists (
        select from gateway.instance_readings r where r.measure = 'alert_rules' and r.at > clock_timestamp() - interval '1 minute')
    then
        perform gateway.update_alerts(rules, delivery);
    end if;
    return query select a.rule from gateway.alerts a where a.resolved_at is null order by 1;
end $$;

revoke all on function gateway.update_alerts(jsonb, text), gateway.evaluate_alerts_2(uuid, integer, jsonb, text)
    from public, anon, authenticated, coach_gateway;
grant execute on function gateway.evaluate_alerts_2(uuid, integer, jsonb, text) to coach_gateway;
