-- The turns of a removed user stay until no call for a summary of theirs runs: its receipt found no turn and was not booked, so what it had cost was in no
-- ledger.

-- As 00024 has it, but that jobs go first, and summaries are waited for.
--
-- Removes a user, a part at each call, each call a transaction of its own; to be called until it answers `removed`:
--   {outcome: stopping}   the user is refused; turns still run, and their gateways were asked to stop them, or summaries do, whose jobs are gone
--   {outcome: removing}   at most `at_most` rows of one table were removed, or one persona; there may be more
--   {outcome: removed}    nothing is left
--
-- Order of locks: a transaction here locks the user's counter, then their users row or conversations; or turns; or messages. It never waits for another
-- of these while it holds one that a turn function can want. Turns are removed when none runs; a late receipt then finds the turn or nothing.
-- With its owner's rights: the gateway's role can remove nothing of this otherwise.
create or replace function gateway.delete_user(user_id uuid, at_most integer default 1000) returns jsonb
    language plpgsql security definer set search_path = '' as $$
declare
    running uuid;
    many text;
    removed integer;
begin
    perform gateway.refuse_user(user_id);

    update gateway.running_turns r set stop_requested_at = clock_timestamp() where r.user_id = $1 and r.stop_requested_at is null;
    for running in select r.turn_id from gateway.running_turns r where r.user_id = $1 loop
        perform pg_notify('coach_stop', running::text);
    end loop;
    if running is not null then
        return jsonb_build_object('outcome', 'stopping');
    end if;
    delete from gateway.jobs j where j.user_id = $1 and j.kind <> 'delete_user';
    if found then
        return jsonb_build_object('outcome', 'removing');
    end if;
    -- Without its job a summary is ended by its gateway, or else by gateway.end_lost_summaries. Both book its calls by the turn.
    if exists (select from gateway.running_summaries s where s.user_id = $1) then
        return jsonb_build_object('outcome', 'stopping');
    end if;

    -- Tables of which a user may have many rows.
    foreach many in array array[
        'public.turns', 'public.messages', 'public.conversations', 'public.context_profile_history', 'public.consents', 'public.reports',
        'public.persona_redemptions', 'gateway.idempotent_requests', 'gateway.done_jobs']
    loop
        if many = 'public.conversations' then
            -- note_removal numbers each: the counter is locked before them, as by everyone who writes a conversation.
            perform from public.change_counters c where c.user_id = $1 for update;
        end if;
        execute format('delete from %1$s t where t.ctid in (select o.ctid from %1$s o where o.user_id = $1 limit $2)', many)
        using user_id, at_most;
        get diagnostics removed = row_count;
        if removed > 0 then
            return jsonb_build_object('outcome', 'removing');
        end if;
    end loop;
    -- One persona at a time, by cascade with its versions and links, which have quotas. The statement locks the order of all personas' changes
    -- (00050), also when it finds none.
    if exists (select from public.coaching_personas p where p.user_id = $1) then
        delete from public.coaching_personas p where p.id in (select o.id from public.coaching_personas o where o.user_id = $1 limit 1);
        return jsonb_build_object('outcome', 'removing');
    end if;
    -- The rest is few rows, most of them by cascade. The job that calls this removes itself.
    perform gateway.forget_subscriber(user_id);
    delete from gateway.subscriptions s where s.user_id = $1;
    delete from gateway.user_entitlements e where e.user_id = $1;
    delete from public.users u where u.id = $1;
    return jsonb_build_object('outcome', 'removed');
end $$;
