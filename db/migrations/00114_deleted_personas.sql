-- Texts of deleted personas were kept for ever, and words of a deleted message could come back into the index of searches.

-- When its content was removed: see gateway.purge_personas.
alter table public.coaching_personas add column purged_at timestamptz;
create index coaching_personas_deleted on public.coaching_personas (deleted_at) where deleted_at is not null and purged_at is null;

-- Removes the content of at most `at_most` personas that were deleted longer ago than `keep`: draft, card, versions, avatar and share links. Returns how
-- many; to be called until it is fewer. No turn uses a deleted persona. The rows stay, as those of deleted conversations do: with their ids and without
-- texts, for clients that were offline. Runs with its owner's rights: no role may change personas of all users otherwise.
create function gateway.purge_personas(keep interval, at_most integer) returns integer
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
    due uuid[];
    purged integer;
begin
    if not gateway.is_unbound() then
        raise exception 'content is purged without claims' using errcode = 'insufficient_privilege';
    end if;
    due := array(
        select p.id from public.coaching_personas p
        where p.deleted_at < now() - keep and p.purged_at is null order by p.deleted_at limit at_most);
    -- The update locks the order of all personas' changes (00050), also when it finds none.
    if due = '{}' then
        return 0;
    end if;
    -- A name has at least one character. A slug has the name.
    update public.coaching_personas p
    set name = '-', slug = null, description = null, domain = null, tone = null, methodology = null, personality = null, starters = null,
        languages = null, card = null, purged_at = now()
    where p.id = any (due) and p.purged_at is null;
    get diagnostics purged = row_count;
    delete from public.persona_versions v where v.persona_id = any (due);
    delete from public.persona_avatars a where a.persona_id = any (due);
    delete from public.share_links l where l.persona_id = any (due);
    return purged;
end $$;

-- The record of crisis detection about the user of the claims, for the export. With its owner's rights: no role reads the table.
create function gateway.crisis_events_of(user_id uuid) returns setof gateway.crisis_events
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform gateway.check_caller(user_id);
    return query select e.* from gateway.crisis_events e join public.users u on u.account_id = e.account_id where u.id = $1;
end $$;

-- As in 00034, but waits for an indexing that has read the message: it would add the words again.
create or replace function gateway.remove_words() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    perform from gateway.search_progress p where p.user_id = old.user_id for update;
    -- It may be the first one of the user. A user who is removed has no words soon.
    if not found and exists (select from public.users u where u.id = old.user_id) then
        insert into gateway.search_progress as p (user_id, language, change, message_id)
        values (old.user_id, '', -1, '00000000-0000-0000-0000-000000000000') on conflict on constraint search_progress_pkey do nothing;
        perform from gateway.search_progress p where p.user_id = old.user_id for update;
    end if;
    delete from public.message_words w where w.user_id = old.user_id and w.message_id = old.id;
    return null;
end $$;

do $do$
declare
    changed constant regprocedure := 'gateway.delete_response(uuid,uuid)';
    old constant text := 'update public.message_words w set words = ''''';
    new constant text := '-- Waits for an indexing that has read the texts: it would add their words again. It may be the first one of the user.
    insert into gateway.search_progress as p (user_id, language, change, message_id)
    values (uid, '''', -1, ''00000000-0000-0000-0000-000000000000'') on conflict on constraint search_progress_pkey do nothing;
    perform from gateway.search_progress p where p.user_id = uid for update;
    update public.message_words w set words = ''''';
begin
    if position(old in pg_get_functiondef(changed)) = 0 then
        raise exception '% has not the text that is replaced', changed;
    end if;
    execute replace(pg_get_functiondef(changed), old, new);
end $do$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.purge_personas(interval, integer), gateway.crisis_events_of(uuid) to coach_gateway;
