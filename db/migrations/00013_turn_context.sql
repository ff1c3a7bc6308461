-- What a turn is held in: its conversation and the messages before it, its persona, and the stored danger.

-- What begin_turn reads about the conversation.
create type gateway.turn_conversation as (
    id uuid, persona_id uuid, persona_version integer, last_seq integer, domain public.coaching_domain, summary text, title text,
    -- The last message that the summary covers; NULL: the conversation is never summarised.
    summarised_through integer,
    source public.conversation_source);

create function gateway.turn_conversation(uid uuid, conversation_id uuid) returns setof gateway.turn_conversation
    language sql stable
begin atomic
    select c.id, c.persona_id, c.persona_version, c.last_seq, c.domain, c.summary, c.title::text,
        case when not c.ephemeral then c.summarised_through_seq end, c.source
    from public.conversations c
    where c.user_id = gateway.user_id() and c.id = $2 and c.deleted_at is null;
end;

-- Why no turn begins in a conversation that was read so; NULL: one begins. A preview has a conversation of its own, and no turn continues it.
create function gateway.conversation_rejection(conversation gateway.turn_conversation, source public.conversation_source, running_in uuid[])
    returns text
    language sql immutable
    return case
        when conversation.id is null or (conversation.source = 'preview') <> (source = 'preview') then 'not_found'
        when conversation.id = any (running_in) then 'turn_in_progress'
    end;

-- The latest turn on the message of the one that a retry names: a client may not know of a retry whose answer it has lost.
create function gateway.retried_turn(uid uuid, turn_id uuid) returns public.turns
    language plpgsql stable as $$
declare
    latest public.turns;
begin
    select l.* into latest from public.turns t
    join public.messages m on m.user_id = t.user_id and m.id = t.user_message_id
    join public.turns l on l.user_id = m.user_id and l.id = m.turn_id
    where t.user_id = uid and t.id = $2 and t.deleted_at is null and l.deleted_at is null;
    return latest;
end $$;

-- The message of the turn `former` when it is the conversation's latest; NULL when it is not.
create function gateway.retried_message(uid uuid, former public.turns, last_seq integer) returns text
    language plpgsql stable as $$
begin
    return (
        select m.content from public.messages m
        where m.user_id = uid and m.id = former.user_message_id and m.turn_id = former.id and m.seq = $3 - 1);
end $$;

-- Whether the user's profile and earlier conversations may enter the prompt. Not when it is refused, or required and not given (CONTRACT §5).
create function gateway.allows_memory(consents jsonb, request jsonb) returns boolean
    language sql immutable
    return coalesce((consents ->> 'memory')::boolean, not request ? 'requires_memory_consent');

-- The messages before a place in a conversation, as a JSON array: the newest that fit into so many tokens, oldest first. Without messages that have
-- no answer, and superseded answers.
create function gateway.history(uid uuid, conversation_id uuid, before_seq integer, tokens integer, messages integer) returns json
    language plpgsql stable as $$
begin
    return (
        select coalesce(json_agg(message), '[]')
        -- Rows in their order, which cost less than objects that the aggregate has to sort.
        from (
            select recent.role::text, recent.content
            from (
                select m.seq, m.role, m.content,
                    sum(m.token_count + gateway.tokens_per_message()) over (order by m.seq desc rows unbounded preceding) as tokens_so_far
                from public.messages m
                where m.user_id = gateway.user_id() and m.conversation_id = $2 and m.seq < $3
                    and m.status in ('complete', 'stopped', 'interrupted') and m.content <> ''
                order by m.seq desc
                limit $5
            ) recent
            where recent.tokens_so_far <= $4
            order by recent.seq
        ) message);
end $$;

-- The messages that a turn's model gets before its own; NULL when there are none. Without those that the summary stands for: so its beginning stays
-- the same, and in providers' caches, until the next summary. `limits`: of the tier.
create function gateway.past_messages(uid uuid, conversation gateway.turn_conversation, conversation_id uuid, seq integer, limits jsonb) returns json
    language sql stable
    return case when seq > 1 then gateway.history(
        uid, conversation_id, seq, coalesce((limits ->> 'tokens')::integer, 0),
        least(
            coalesce((limits ->> 'messages')::integer, 0),
            case when conversation.summary is not null then seq - 1 - conversation.summarised_through end)) end;

-- The version of a persona that answers: the published one when it is open to the user, or `kept_version` of a conversation, also after the persona
-- was unpublished. NULL when there is none.
create function gateway.find_persona(uid uuid, persona_id uuid, kept_version integer) returns public.persona_versions
    language plpgsql stable as $$
declare
    persona public.persona_versions;
begin
    select v.* into persona from public.coaching_personas p
    join public.persona_versions v on v.persona_id = p.id and v.version = coalesce($3, p.published_version)
    where p.id = $2 and p.deleted_at is null and (
        p.status in ('published', 'unpublished') and $3 is not null
        or p.status = 'published' and (
            p.visibility = 'listed' or p.user_id = uid
            or exists (
                select from public.persona_redemptions r where r.user_id = uid and r.persona_id = p.id)));
    return persona;
end $$;

-- The draft of a creator's own persona, as a version without a number; NULL when there is none, or an operator has withdrawn it.
create function gateway.draft_persona(uid uuid, persona_id uuid) returns public.persona_versions
    language plpgsql stable as $$
declare
    draft public.persona_versions;
begin
    select p.id, null, p.name, p.description, p.domain, p.tone, p.methodology, p.personality, p.starters, p.languages, p.updated_at
    into draft from public.coaching_personas p
    where p.id = $2 and p.user_id = uid and p.deleted_at is null and p.status <> 'withdrawn';
    return draft;
end $$;

create function gateway.names_persona(request jsonb, source public.conversation_source) returns boolean
    language sql immutable
    return source = 'preview' or coalesce(request ->> 'persona_id', request ->> 'persona_slug', request ->> 'share_token') is not null;

-- The persona that a request names, by id, by its slug, or by a share link, which it redeems; in a preview the creator's draft. NULL when it is
-- not open to the user.
create function gateway.requested_persona(uid uuid, request jsonb) returns public.persona_versions
    language plpgsql as $$
declare
    requested uuid := (request ->> 'persona_id')::uuid;
    shared uuid;
begin
    if request ->> 'source' = 'preview' then
        return gateway.draft_persona(uid, requested);
    elsif request ->> 'share_token' is not null then
        shared := gateway.redeem_share_link(uid, request ->> 'share_token');
        if shared is null or shared <> requested then
            return null;
        end if;
        requested := shared;
    elsif request ->> 'persona_slug' is not null then
        select p.id into requested from public.coaching_personas p where p.slug = request ->> 'persona_slug';
    end if;
    return gateway.find_persona(uid, requested, null);
end $$;

-- Why no turn begins with the persona that the request names; NULL: one begins. A user in danger is answered without a persona.
create function gateway.persona_rejection(persona_id uuid, source public.conversation_source, exempt boolean) returns text
    language sql immutable
    return case when persona_id is null and not exempt then case source when 'preview' then 'not_found' else 'unknown_persona' end end;

-- Why no turn begins in a pinned domain; NULL: one begins. For a user in danger the prompt is the generic one.
create function gateway.domain_rejection(domain public.coaching_domain, tier jsonb, exempt boolean) returns text
    language sql stable
    return case when domain is not null and not exempt and not (tier -> 'domains') ? domain::text then 'subscription_required' end;

-- The highest level of danger stored for a user: with the persona, or with any when it is NULL.
create function gateway.stored_level(uid uuid, persona_id uuid, moment timestamptz) returns integer
    language plpgsql stable as $$
begin
    return (
        select max(gateway.level_at(s.level, s.raised_at, moment)) from public.safety_states s
        where s.user_id = uid and s.persona_id = coalesce($2, s.persona_id));
end $$;

-- The level of danger before this message, whose own tier the caller fuses. `persona_id`: as in gateway.stored_level; `has_states`: false when none
-- needs to be read.
create function gateway.danger_level(uid uuid, persona_id uuid, has_states boolean, request jsonb, moment timestamptz) returns integer
    language sql stable
    return greatest(
        case when has_states then gateway.stored_level(uid, persona_id, moment) end, case when request ? 'earlier_concern' then 1 end, 0);

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.turn_conversation(uuid, uuid), gateway.conversation_rejection(gateway.turn_conversation, public.conversation_source, uuid[]),
    gateway.retried_turn(uuid, uuid), gateway.retried_message(uuid, public.turns, integer), gateway.allows_memory(jsonb, jsonb),
    gateway.history(uuid, uuid, integer, integer, integer), gateway.past_messages(uuid, gateway.turn_conversation, uuid, integer, jsonb),
    gateway.find_persona(uuid, uuid, integer), gateway.draft_persona(uuid, uuid), gateway.names_persona(jsonb, public.conversation_source),
    gateway.requested_persona(uuid, jsonb), gateway.persona_rejection(uuid, public.conversation_source, boolean),
    gateway.domain_rejection(public.coaching_domain, jsonb, boolean), gateway.stored_level(uuid, uuid, timestamptz),
    gateway.danger_level(uuid, uuid, boolean, jsonb, timestamptz)
    to coach_gateway;
