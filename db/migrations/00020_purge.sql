-- Removes the content of conversations that their users have given up. The ledger stays.

-- Removes at most `at_most` messages and turns of conversations that were deleted longer ago than `keep`, and of ephemeral ones a day after their
-- last message; to be called until both numbers are 0. Rows are counted, not conversations, because a conversation has any number of messages and
-- a statement has a time limit. The rows of emptied conversations stay, without title and summary, as tombstones for clients that were offline.
--   conversations   how many were emptied
--   removed         how many messages and turns were removed
-- Runs with its owner's rights: no role may remove messages otherwise.
create function gateway.purge_content(keep interval, at_most integer, out conversations integer, out removed integer)
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
    if not gateway.is_unbound() then
        raise exception 'content is purged without claims' using errcode = 'insufficient_privilege';
    end if;
    -- A running turn is billed first. The update below numbers the conversations: it never waits for a counter, whose holder may want one of them.
    with deleted as materialized (
        select c.user_id, c.id from public.conversations c
        join public.change_counters k on k.user_id = c.user_id
        where c.deleted_at < now() - keep and c.purged_at is null
            and not exists (select from gateway.running_turns r where r.user_id = c.user_id and r.conversation_id = c.id)
        order by c.deleted_at limit 20 for update of k, c skip locked
    ), expired as materialized (
        select c.user_id, c.id from public.conversations c
        join public.change_counters k on k.user_id = c.user_id
        where c.ephemeral and c.purged_at is null and c.last_message_at < now() - interval '1 day'
            and not exists (select from gateway.running_turns r where r.user_id = c.user_id and r.conversation_id = c.id)
        order by c.last_message_at limit 20 for update of k, c skip locked
    ), due as materialized (
        select d.user_id, d.id from deleted d union select e.user_id, e.id from expired e
    ), removed_messages as (
        delete from public.messages m where m.ctid in (
            select o.ctid from due d join public.messages o on o.user_id = d.user_id and o.conversation_id = d.id limit at_most)
        returning 1
    ), removed_turns as (
        delete from public.turns t where t.ctid in (
            select o.ctid from due d join public.turns o on o.user_id = d.user_id and o.conversation_id = d.id
            limit at_most - (select count(*) from removed_messages))
        returning 1
    ), total as materialized (
        select (select count(*) from removed_messages) + (select count(*) from removed_turns) as removed
    ), emptied as (
        -- The limit was not reached, so nothing of them is left. Otherwise an ephemeral one is closed before its other messages are removed.
        update public.conversations c set title = null, summary = null, deleted_at = coalesce(c.deleted_at, now()),
            purged_at = case when t.removed < at_most then now() end
        from due d, total t
        where c.user_id = d.user_id and c.id = d.id and (t.removed < at_most or c.deleted_at is null)
        returning c.purged_at
    )
    select (select count(e.purged_at) from emptied e), t.removed into conversations, removed from total t;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.purge_content(interval, integer), gateway.make_usage_partitions(integer) to coach_gateway;
