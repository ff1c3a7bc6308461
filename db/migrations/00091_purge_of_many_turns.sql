-- The content of deleted conversations of a user with many turns. The turns of each conversation were looked for among all of the user's: with 30,000, a part
-- of 20 conversations took the 2 s of a statement. It came first at every attempt, so that nobody's content was removed any more.

-- As in 00020, but a user's turns are read once for all of their conversations. Not by an index, which every turn would have to write.
create or replace function gateway.purge_content(keep interval, at_most integer, out conversations integer, out removed integer)
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
    ), owner as materialized (
        select d.user_id, array_agg(d.id) as ids from due d group by d.user_id
    ), removed_messages as (
        delete from public.messages m where m.ctid in (
            select o.ctid from due d join public.messages o on o.user_id = d.user_id and o.conversation_id = d.id limit at_most)
        returning 1
    ), removed_turns as (
        delete from public.turns t where t.ctid in (
            select o.ctid from owner w join public.turns o on o.user_id = w.user_id and o.conversation_id = any (w.ids)
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

-- As in 00007, but the turn of a preview is looked up by its message: no other turn continues a preview or retries it. Removing 20 previews of such a creator
-- took more than a second.
create or replace function gateway.remove_conversation() returns trigger
    language plpgsql security definer set search_path = '' as $$
declare
    running gateway.running_turns;
begin
    delete from gateway.running_turns r where r.user_id = old.user_id and r.conversation_id = old.id returning r.* into running;
    if old.source = 'preview' then
        delete from public.turns t where t.ctid in (
            select k.ctid from (
                select distinct m.turn_id from public.messages m where m.user_id = old.user_id and m.conversation_id = old.id) m
            -- The limit makes it a look-up by key, whatever the planner thinks of how many turns a user has.
            cross join lateral (select o.ctid from public.turns o where o.user_id = old.user_id and o.id = m.turn_id limit 1) k);
    else
        delete from public.turns t where t.user_id = old.user_id and t.conversation_id = old.id;
    end if;
    delete from public.messages m where m.user_id = old.user_id and m.conversation_id = old.id;
    if running.reserved_usd <> 0 or running.reserved_tokens <> 0 then
        update public.budgets b
        set reserved_usd = b.reserved_usd - running.reserved_usd, reserved_tokens = b.reserved_tokens - running.reserved_tokens
        where b.user_id = old.user_id and b.day = running.day;
    end if;
    return null;
end $$;
