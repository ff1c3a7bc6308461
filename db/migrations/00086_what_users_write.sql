-- Behind PostgREST a user could write what the gateway would never write for them.

-- A persona's id stays that of its creator: a new one under the id of a removed persona would answer in the conversations that were begun with that one,
-- for everybody who has redeemed a link of it, too.
create function gateway.refuse_removed_persona() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    if exists (select from gateway.removed_personas r where r.persona_id = new.id) then
        raise exception 'the id is that of a removed persona' using errcode = 'unique_violation', constraint = 'coaching_personas_pkey';
    end if;
    return new;
end $$;
create trigger refuse_removed before insert on public.coaching_personas for each row
    when (current_user = 'authenticated') execute function gateway.refuse_removed_persona();

-- A deleted persona stays deleted, as a conversation does: it would come back published, past the limits on how many a creator may have.
alter policy coaching_personas_creator_update on public.coaching_personas
    using (user_id = (select auth.uid()) and deleted_at is null and (select auth.jwt() #>> '{app_metadata,role}') = 'creator');

-- When something was deleted is not the user's choice: `infinity` would make the synchronisation fail and keep the content for ever.
create function gateway.set_deletion_time() returns trigger language plpgsql set search_path = '' as $$
begin
    new.deleted_at := now();
    return new;
end $$;
create trigger deletion_time before update of deleted_at on public.coaching_personas for each row
    when (current_user = 'authenticated' and new.deleted_at is not null) execute function gateway.set_deletion_time();
create trigger deletion_time before update of deleted_at on public.conversations for each row
    when (current_user = 'authenticated' and new.deleted_at is not null) execute function gateway.set_deletion_time();

revoke all on function gateway.refuse_removed_persona(), gateway.set_deletion_time() from public, anon, authenticated, coach_gateway;
