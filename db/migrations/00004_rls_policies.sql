-- Privileges and policies. `authenticated` is a user, here or behind PostgREST; `coach_gateway` is the server, bound to the user of the claims.
-- Neither has access to rows of other users, and only the gateway writes messages and the ledger.

revoke all on
    public.users, public.context_profiles, public.conversations, public.messages,
    public.coaching_personas, public.persona_versions, public.published_personas, public.persona_avatars, public.share_links,
    public.persona_redemptions, public.usage_logs,
    public.model_calls
    from anon, authenticated, coach_gateway;

alter table public.users enable row level security;
alter table public.context_profiles enable row level security;
alter table public.conversations enable row level security;
alter table public.messages enable row level security;
alter table public.coaching_personas enable row level security;
alter table public.persona_versions enable row level security;
alter table public.persona_avatars enable row level security;
alter table public.share_links enable row level security;
alter table public.persona_redemptions enable row level security;
alter table public.usage_logs enable row level security;
alter table gateway.schema_migrations enable row level security;

-- A user's own row, without the operators' columns.
grant select (id, account_id, display_name, locale, country, time_zone, is_minor, created_at, updated_at),
    update (display_name, locale, country, time_zone, is_minor)
    on public.users to authenticated;
grant select, insert, update on public.users to coach_gateway;
create policy users_owner_select on public.users for select to authenticated using (id = (select auth.uid()));
create policy users_owner_update on public.users for update to authenticated
    using (id = (select auth.uid())) with check (id = (select auth.uid()));
create policy users_gateway on public.users to coach_gateway
    using (id = gateway.user_id()) with check (id = gateway.user_id());

-- The context profile.
grant select, insert (user_id, values, goals, situation), update (values, goals, situation)
    on public.context_profiles to authenticated;
grant select on public.context_profiles to coach_gateway;
create policy context_profiles_owner on public.context_profiles to authenticated
    using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));
create policy context_profiles_gateway on public.context_profiles for select to coach_gateway
    using (user_id = gateway.user_id());

-- Conversations: their owner creates, renames and soft-deletes them. Rows stay, because the ledger refers to them.
grant select, insert (user_id, id, title, domain, persona_id, ephemeral), update (title, domain, deleted_at)
    on public.conversations to authenticated;
grant select, insert, update on public.conversations to coach_gateway;
-- Previews are part of no history.
create policy conversations_owner_select on public.conversations for select to authenticated
    using (user_id = (select auth.uid()) and source <> 'preview');
create policy conversations_owner_insert on public.conversations for insert to authenticated
    with check (
        user_id = (select auth.uid())
        and (persona_id is null or exists (select from public.published_personas p where p.id = persona_id)));
-- A deleted one stays deleted: clients that synchronise have dropped its messages.
create policy conversations_owner_update on public.conversations for update to authenticated
    using (user_id = (select auth.uid()) and deleted_at is null) with check (user_id = (select auth.uid()));
create policy conversations_gateway on public.conversations to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

-- Messages: read by their owner, written by the turn functions.
grant select on public.messages to authenticated;
grant select, insert, update on public.messages to coach_gateway;
create policy messages_owner_select on public.messages for select to authenticated using (user_id = (select auth.uid()));
create policy messages_gateway on public.messages to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

-- Personas: creators edit their own drafts; the server sets status, version and slug. The gateway reads all for turns, and publishes those of
-- the user it is bound to.
grant select, insert (id, user_id, name, description, domain, tone, methodology, personality, starters, languages),
    update (name, description, domain, tone, methodology, personality, starters, languages, card, deleted_at)
    on public.coaching_personas to authenticated;
grant select, update (status, published_version, published_at, visibility, slug) on public.coaching_personas to coach_gateway;
grant select on public.persona_versions to authenticated;
grant select, insert on public.persona_versions to coach_gateway;
grant select on public.published_personas to authenticated, coach_gateway;
create policy coaching_personas_owner_select on public.coaching_personas for select to authenticated
    using (user_id = (select auth.uid()));
create policy coaching_personas_creator_insert on public.coaching_personas for insert to authenticated
    with check (user_id = (select auth.uid()) and (select auth.jwt() #>> '{app_metadata,role}') = 'creator');
create policy coaching_personas_creator_update on public.coaching_personas for update to authenticated
    using (user_id = (select auth.uid()) and (select auth.jwt() #>> '{app_metadata,role}') = 'creator')
    with check (user_id = (select auth.uid()));
create policy coaching_personas_gateway_select on public.coaching_personas for select to coach_gateway using (true);
create policy coaching_personas_gateway_update on public.coaching_personas for update to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
create policy persona_versions_owner_select on public.persona_versions for select to authenticated
    using (exists (select from public.coaching_personas p where p.id = persona_id and p.user_id = (select auth.uid())));
create policy persona_versions_gateway_select on public.persona_versions for select to coach_gateway using (true);
create policy persona_versions_gateway_insert on public.persona_versions for insert to coach_gateway
    with check (exists (select from public.coaching_personas p where p.id = persona_id and p.user_id = gateway.user_id()));

-- Avatars: the gateway reads all, and writes those of the user it is bound to.
grant select, insert, update, delete on public.persona_avatars to coach_gateway;
create policy persona_avatars_gateway_select on public.persona_avatars for select to coach_gateway using (true);
do $$
declare
    command text;
    own constant text := 'exists (select from public.coaching_personas p where p.id = persona_id and p.user_id = gateway.user_id())';
begin
    foreach command in array array['insert', 'update', 'delete'] loop
        execute format(
            'create policy %I on public.persona_avatars for %s to coach_gateway %s (%s)', 'persona_avatars_gateway_' || command, command,
            case command when 'insert' then 'with check' else 'using' end, own);
    end loop;
end $$;

-- Share links: the gateway reads all, because a token is looked up for any user that has it, and writes those of the user it is bound to. Users read their
-- redemptions; one is made together with the use of a link, by gateway.redeem_share_link alone.
grant select, insert, update (revoked_at) on public.share_links to coach_gateway;
grant select on public.persona_redemptions to authenticated, coach_gateway;
create policy share_links_gateway_select on public.share_links for select to coach_gateway using (true);
create policy share_links_gateway_insert on public.share_links for insert to coach_gateway
    with check (
        user_id = gateway.user_id()
        and exists (select from public.coaching_personas p where p.id = persona_id and p.user_id = gateway.user_id()));
create policy share_links_gateway_update on public.share_links for update to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
create policy persona_redemptions_owner_select on public.persona_redemptions for select to authenticated
    using (user_id = (select auth.uid()));
create policy persona_redemptions_gateway_select on public.persona_redemptions for select to coach_gateway
    using (user_id = gateway.user_id());

-- The ledger: users read the rows of their account; the gateway adds rows to the account of the user it is bound to. No role changes one.
grant select on public.usage_logs, public.model_calls to authenticated;
grant select, insert on public.usage_logs to coach_gateway;
create policy usage_logs_owner_select on public.usage_logs for select to authenticated
    using (account_id = (select u.account_id from public.users u where u.id = (select auth.uid())));
create policy usage_logs_gateway on public.usage_logs to coach_gateway
    using (account_id = (select u.account_id from public.users u where u.id = gateway.user_id()))
    with check (account_id = (select u.account_id from public.users u where u.id = gateway.user_id()));

-- Readiness compares the database's version with the files'.
grant select on gateway.schema_migrations to coach_gateway;
create policy schema_migrations_gateway_select on gateway.schema_migrations for select to coach_gateway using (true);

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.user_id(), gateway.is_unbound(), gateway.slug_of(text, uuid), gateway.publish_persona(uuid, uuid, text)
    to coach_gateway;
