-- As in 00042, but the webhook of an alert's beginning never comes after that of its end. A beginning that is not delivered when the alert ends is not sent
-- any more. A run that is at it just then finds at its next renewal that its job is gone, and is cancelled; until its lease ends, the end waits. A lease that
-- ends later than a lease of now was taken before the clock was set back.
create or replace function gateway.deliver_alert(alert gateway.alerts, delivery text) returns void
    language plpgsql set search_path = '' as $$
declare
    leased_until timestamptz;
begin
    if delivery is null then
        return;
    end if;
    if alert.resolved_at is not null then
        delete from gateway.jobs j
        where j.user_id is null and j.kind = delivery and j.idempotency_key = format('%s/firing', alert.id)
        returning case when j.lease_until < clock_timestamp() + interval '1 minute' then j.lease_until end into leased_until;
    end if;
    perform gateway.enqueue_job(
        null, delivery, gateway.alert_json(alert),
        format('%s/%s', alert.id, case when alert.resolved_at is null then 'firing' else 'resolved' end),
        greatest(clock_timestamp(), leased_until));
end $$;
