-- Users to reconcile, in place of gateway.expiring_users, which read its whole window again for each page. Both functions read at most `at_most` rows in
-- the order of an index, after the row with this time, in microseconds since 1970, and id; NULL for the first page.

drop index gateway.idx_user_entitlements_access_until;

-- Access that ended or ends within this time. Without `users` when RevenueCat does not know the user.
create function gateway.ending_access(within_seconds integer, after bigint, after_id text, at_most integer)
    returns table (moment bigint, id text, users text[])
    language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
    -- One comparison of rows: PostgreSQL begins to read an index at a comparison of its first column alone when there is one.
    first timestamptz := now() - make_interval(secs => within_seconds);
    first_user uuid := '00000000-0000-0000-0000-000000000000';
begin
    if timestamptz 'epoch' + after * interval '1 microsecond' >= first then
        first := timestamptz 'epoch' + after * interval '1 microsecond';
        first_user := after_id::uuid;
    end if;
    return query
        select (extract(epoch from e.access_until) * 1000000)::bigint, e.user_id::text, array(
            select e.user_id::text
            -- Version 8: the pseudonym of a removed user, which the sender does not know (gateway.pseudonym).
            where substr(e.user_id::text, 15, 1) <> '8' and exists (
                select from gateway.subscriber_ids i join gateway.billing_events b on b.subscriber = i.subscriber
                where i.id = e.user_id::text and b.source = 'revenuecat'))
        from (
            select distinct a.access_until, a.user_id from gateway.user_entitlements a
            where (a.access_until, a.user_id) > (first, first_user)
                and a.access_until <= now() + make_interval(secs => within_seconds)
            order by a.access_until, a.user_id limit at_most) e
        order by e.access_until, e.user_id;
end $$;

-- Events of RevenueCat that ended access within twice of this time, with the users among their subscriber's names. For twice the time, because the daily
-- job can begin an hour later than the day before.
create function gateway.ended_access(within_seconds integer, after bigint, after_id text, at_most integer)
    returns table (moment bigint, id text, users text[])
    language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
    first timestamptz := now() - 2 * make_interval(secs => within_seconds);
    first_event bigint := 0;
begin
    if timestamptz 'epoch' + after * interval '1 microsecond' >= first then
        first := timestamptz 'epoch' + after * interval '1 microsecond';
        first_event := after_id::bigint;
    end if;
    return query
        select (extract(epoch from f.occurred_at) * 1000000)::bigint, f.event_number::text, array(
            select i.id from gateway.subscriber_ids i where i.subscriber = b.subscriber
                -- Not of version 8, as above.
                and i.id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-79a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$'
            order by i.id)
        from (
            select g.occurred_at, g.event_number, g.source, g.event_id from gateway.billing_figures g
            where g.source = 'revenuecat' and g.kind in ('expiration', 'refund') and (g.occurred_at, g.event_number) > (first, first_event)
            order by g.occurred_at, g.event_number limit at_most) f
        join gateway.billing_events b on b.source = f.source and b.event_id = f.event_id
        order by f.occurred_at, f.event_number;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.ending_access(integer, bigint, text, integer), gateway.ended_access(integer, bigint, text, integer) to coach_gateway;
