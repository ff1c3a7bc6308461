-- Subscribers are folded again in the order of their versions, and events of removed users' customers are known.

drop index gateway.idx_subscribers_fold_version;

-- As gateway.outdated_subscribers, in the order of version and id, after one of them: read by the index alone, however many are done or were never
-- outdated. Of versions above this one only that with the other setting for the sandbox is outdated.
create function gateway.outdated_subscribers_2(
    fold_version integer, after_version integer, after bigint, at_most integer) returns table (version integer, subscriber bigint)
    language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
    return query
        (select s.fold_version, s.id from gateway.subscribers s
        where s.fold_version < $1 and (s.fold_version, s.id) > ($2, $3) order by s.fold_version, s.id limit $4)
        union all
        (select s.fold_version, s.id from gateway.subscribers s
        where s.fold_version = $1 + 1 and $1 % 2 = 0 and (s.fold_version, s.id) > ($2, $3) order by s.fold_version, s.id limit $4)
        order by 1, 2 limit $4;
end $$;

-- Whether a removed user's pseudonym (gateway.pseudonym) is among the names of one of the subscribers.
create function gateway.have_pseudonym(subscribers bigint[]) returns boolean
    language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
    return exists (
        select from gateway.subscriber_ids i
        where i.subscriber = any (subscribers) and i.id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.outdated_subscribers_2(integer, integer, bigint, integer), gateway.have_pseudonym(bigint[]) to coach_gateway;
