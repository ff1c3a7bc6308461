-- Folding subscribers again without a new event: after a change of the fold, and by asking the sender.

-- Subscribers whose results an earlier version of the fold wrote, or this one with the other setting for the sandbox (BillingInbox.version); after one
-- of them, in their order.
create function gateway.outdated_subscribers(fold_version integer, after bigint, at_most integer) returns setof bigint
    language sql stable set search_path = ''
begin atomic
    select s.id from gateway.subscribers s
    where (s.fold_version < $1 or $1 % 2 = 0 and s.fold_version = $1 + 1) and s.id > $2
    order by s.id limit $3;
end;

-- The input of a fold of a subscriber's stored events; no row when they are merged with another one.
create function gateway.stored_subscriber(subscriber bigint, out revision integer, out events text) returns setof record
    language sql stable set search_path = ''
begin atomic
    select s.revision, gateway.subscriber_events(array[s.id]) from gateway.subscribers s where s.id = $1;
end;

-- Writes the results of a fold of a subscriber's stored events. Without effect, and false, when another event was stored since `revision` was read: that
-- one's fold wrote the results.
create function gateway.refold_subscriber(subscriber bigint, revision integer, fold_version integer, state text, states jsonb) returns boolean
    language plpgsql set search_path = '' set enable_seqscan = off as $$
begin
    update gateway.subscribers s set fold_version = $3, state = $4
    where s.id = $1 and s.revision = $2 and (s.fold_version < $3 or $3 % 2 = 0 and s.fold_version = $3 + 1);
    if not found then
        return false;
    end if;
    perform gateway.write_entitlements(states);
    return true;
end $$;

-- Users with events of RevenueCat whose access ended or ends within this time, or whose access an event ended within twice of it. Ordered by id, after
-- `after`.
create function gateway.expiring_users(within_seconds integer, after uuid, at_most integer) returns setof uuid
    language sql stable set search_path = ''
begin atomic
    select u.user_id from (
        select e.user_id from gateway.user_entitlements e
        where e.access_until between now() - make_interval(secs => within_seconds) and now() + make_interval(secs => within_seconds)
            and exists (
                select from gateway.subscriber_ids i join gateway.billing_events b on b.subscriber = i.subscriber
                where i.id = e.user_id::text and b.source = 'revenuecat')
        union
        -- Their rows above are gone. For twice the time, because the daily job can begin an hour later than the day before.
        select case when i.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then i.id::uuid end
        from gateway.billing_figures f
        join gateway.billing_events b on b.source = f.source and b.event_id = f.event_id
        join gateway.subscriber_ids i on i.subscriber = b.subscriber
        where f.occurred_at > now() - 2 * make_interval(secs => within_seconds) and f.kind in ('expiration', 'refund') and f.source = 'revenuecat') u
    -- Version 8: the pseudonym of a removed user, which the sender does not know (gateway.pseudonym).
    where u.user_id is not null and substr(u.user_id::text, 15, 1) <> '8' and (after is null or u.user_id > after)
    order by u.user_id limit at_most;
end;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.outdated_subscribers(integer, bigint, integer), gateway.stored_subscriber(bigint),
    gateway.refold_subscriber(bigint, integer, integer, text, jsonb), gateway.expiring_users(integer, uuid, integer)
    to coach_gateway;
