-- gateway.ending_access read all of gateway.subscriber_ids for each user: row-level security tests a condition after its own unless it can reveal nothing,
-- and a cast of a column may. Users' names are therefore made before they are compared, so that the index of names is used.

create or replace function gateway.ending_access(within_seconds integer, after bigint, after_id text, at_most integer)
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
        with ending as materialized (
            select e.access_until, e.user_id, e.user_id::text as name
            from (
                select distinct a.access_until, a.user_id from gateway.user_entitlements a
                where (a.access_until, a.user_id) > (first, first_user)
                    and a.access_until <= now() + make_interval(secs => within_seconds)
                order by a.access_until, a.user_id limit at_most) e
        )
        select (extract(epoch from e.access_until) * 1000000)::bigint, e.name, array(
            select e.name
            -- Version 8: the pseudonym of a removed user, which the sender does not know (gateway.pseudonym).
            where substr(e.name, 15, 1) <> '8' and exists (
                select from gateway.subscriber_ids i join gateway.billing_events b on b.subscriber = i.subscriber
                where i.id = e.name and b.source = 'revenuecat'))
        from ending e order by e.access_until, e.user_id;
end $$;
