-- What a synchronising client of a user has not read yet: the keys of a page of their rows, in the order of changes after a place. Rows of one
-- transaction have the same number and are ordered by id, also across tables. With its owner's rights, so that the policies of six tables are not
-- applied to each part; it reads the caller's rows alone.
--
-- seen: changes up to this number are known, so that a request which finds nothing new, as most do, reads the counter alone.
-- The row without a kind comes once and has the counters, which the others leave out; its change is NULL, too.
-- kind: 0 profile, 1 conversation, 2 message, 3 persona.
-- message, domain: a message and the domain of its turn, as most of a page is; NULL of other kinds, whose rows the statement looks up.
-- complete_through: the number up to which all changes were looked at; the greatest when that is all of them.
-- last_persona_change: of any persona; gateway.persona_changes has those that the user may know of.
create function gateway.changed_rows(user_id uuid, after_change bigint, after_id uuid, seen bigint, at_most integer)
    returns table (
        epoch uuid, last_change bigint, removed_through bigint, complete_through bigint, last_persona_change bigint, change bigint, id uuid,
        kind integer, message public.messages, domain public.coaching_domain)
    language plpgsql stable security definer rows 20 set search_path = '' set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    all_changes constant bigint := 9223372036854775807;
    -- A message includes the domain of its turn, so it also changes with the turn, and every change of a turn comes with one of its answer or of its
    -- user's message (write_answer). A question whose turn ends later is ordered with its answer, behind the messages that were written between. If
    -- more than four questions of a page move behind its end, the page is shorter.
    messages constant integer := $5 + 4;
begin
    perform gateway.check_caller($1);
    select e.epoch, coalesce(n.last_change, 0), coalesce(n.removed_through, 0), p.last_change
    into epoch, last_change, removed_through, last_persona_change
    from public.database_epoch e cross join gateway.persona_counter p left join public.change_counters n on n.user_id = $1;
    complete_through := all_changes;
    if last_change <= $4 then
        return next;
        return;
    end if;
    return query
        with changed as materialized (
            select m.id, m.conversation_id, m.turn_id, m.change, m as message from public.messages m
            where m.user_id = $1 and m.change > $4 order by m.change fetch first (messages + 1) rows with ties
        ), last_read as materialized (
            select case when count(*) > messages then max(change) else all_changes end as change from changed
        ), changed_turn as materialized (
            -- Lateral look-ups keep the planner from reading all of the user's rows.
            select t.id, t.change, t.user_message_id, t.domain from (select distinct turn_id from changed) k cross join lateral (
                select t.id, t.change, t.user_message_id, t.domain from public.turns t where t.user_id = $1 and t.id = k.turn_id limit 1) t
        ), candidate as (
            select m.id, m.conversation_id, greatest(m.change, t.change) as change, m.message, t.domain
            from changed m left join changed_turn t on t.id = m.turn_id
            union all
            -- The user's message of each turn that changed. From the beginning all of them are there.
            select m.id, m.conversation_id, greatest(m.change, t.change), m.message, t.domain from (
                select t.user_message_id as id from changed_turn t where $4 >= 0 and t.user_message_id not in (select id from changed)
                group by 1) k cross join lateral (
                select m.id, m.conversation_id, m.turn_id, m.change, m as message
                from public.messages m where m.user_id = $1 and m.id = k.id limit 1) m
            left join lateral (
                select t.change, t.domain from public.turns t where t.user_id = $1 and t.id = m.turn_id limit 1) t on true
        ), page as (
            select k.* from last_read, lateral (
                select p.change, p.user_id as id, 0 as kind, null::public.messages as message, null::public.coaching_domain as domain
                from public.context_profiles p where p.user_id = $1
                union all
                select c.change, c.id, 1, null, null from public.conversations c where c.user_id = $1 and c.source <> 'preview'
                union all
                select m.change, m.id, 2, m.message, m.domain from candidate m where m.conversation_id in (
                    select c.id from (select distinct conversation_id as id from candidate) s cross join lateral (
                        select c.id from public.conversations c
                        where c.user_id = $1 and c.id = s.id and c.deleted_at is null and c.source <> 'preview' limit 1) c)
                union all
                select r.change, r.persona_id, 3, null, null from public.persona_redemptions r where r.user_id = $1) k
            where (k.change, k.id) > ($2, $3) and k.change <= last_read.change
            order by k.change, k.id limit $5 + 1)
        select epoch, last_change, removed_through, last_read.change, last_persona_change, null::bigint, null::uuid, null::integer, null::public.messages,
            null::public.coaching_domain
        from last_read
        union all
        select null, null, null, null, null, page.change, page.id, page.kind, page.message, page.domain from page;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.changed_rows(uuid, bigint, uuid, bigint, integer) to coach_gateway;
