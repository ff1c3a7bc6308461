-- gateway.requested_persona as in 00013, but a request may also name the persona of the conversation that it continues, which that keeps when the persona is
-- unpublished or no longer listed. Until then the request was rejected, while the same request without the name got an answer of that persona. The same
-- holds for the next attempt of a request that began a conversation.
create or replace function gateway.requested_persona(uid uuid, request jsonb) returns public.persona_versions
    language plpgsql as $$
declare
    requested uuid := (request ->> 'persona_id')::uuid;
    shared uuid;
    persona public.persona_versions;
begin
    if request ->> 'source' = 'preview' then
        return gateway.draft_persona(uid, requested);
    elsif request ->> 'share_token' is not null then
        shared := gateway.redeem_share_link(uid, request ->> 'share_token');
        requested := case when shared = coalesce(requested, shared) then shared end;
    elsif request ->> 'persona_slug' is not null then
        select p.id into requested from public.coaching_personas p where p.slug = request ->> 'persona_slug';
    end if;
    persona := gateway.find_persona(uid, requested, null);
    if persona.persona_id is null then
        select v.* into persona
        from public.conversations c
        cross join lateral gateway.find_persona(uid, c.persona_id, c.persona_version) v
        where c.user_id = uid and c.persona_id is not null and (
            c.id = (request ->> 'conversation_id')::uuid and c.persona_id = requested
            -- What a repeated request named was open when it began the conversation; begin_turn has compared the requests.
            or c.id = (
                select t.conversation_id from public.turns t
                where t.user_id = uid and t.idempotency_key = coalesce(request ->> 'idempotency_key', '')));
    end if;
    return persona;
end $$;
