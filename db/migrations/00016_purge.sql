-- Removes the content of conversations that their users have given up. The ledger stays.

-- Removes messages and turns of at most `at_most` conversations that were deleted longer ago than `keep`, and of as many ephemeral ones a day
-- after their last message; returns the number of conversations. Their rows stay, without title and summary, as tombstones for clients that
-- were offline. Runs with its owner's rights: no role may remove messages otherwise.
create function gateway.purge_content(keep interval, at_most integer) returns integer
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
    purged integer;
begin
    if not gateway.is_unbound() then
        raise exception 'content is purged without claims' using errcode = 'insufficient_privilege';
    end if;
    -- A running turn is billed first.
    with deleted as materialized (
        select c.user_id, c.id from public.conversations c
        where c.deleted_at < now() - keep and c.purged_at is null
            and not exists (select from gateway.running_turns r where r.user_id = c.user_id and r.conversation_id = c.id)
        order by c.deleted_at limit at_most for update skip locked
    ), expired as materialized (
        select c.user_id, c.id from public.conversations c
        where c.ephemeral and c.purged_at is null and c.last_message_at < now() - interval '1 day'
            and not exists (select from gateway.running_turns r where r.user_id = c.user_id and r.conversation_id = c.id)
        order by c.last_message_at limit at_most for update skip locked
    ), due as (
        select d.user_id, d.id from deleted d union select e.user_id, e.id from expired e
    ), removed_messages as (
        delete from public.messages m using due d where m.user_id = d.user_id and m.conversation_id = d.id
    ), removed_turns as (
        delete from public.turns t using due d where t.user_id = d.user_id and t.conversation_id = d.id
    )
    update public.conversations c set title = null, summary = null, deleted_at = coalesce(c.deleted_at, now()), purged_at = now()
    from due d where c.user_id = d.user_id and c.id = d.id;
    get diagnostics purged = row_count;
    return purged;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.purge_content(interval, integer), gateway.make_usage_partitions(integer) to coach_gateway;
