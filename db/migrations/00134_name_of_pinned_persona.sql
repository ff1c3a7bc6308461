-- As in 00111, with persona_name: that of the version which answers, under which the user knows the persona, whatever it is called since.
create or replace function gateway.persona_of_conversation(user_id uuid, conversation_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    return (
        select jsonb_build_object(
            'persona_id', c.persona_id, 'version', c.persona_version, 'newest_version', newest.version,
            'persona_name', (
                select v.name from public.persona_versions v
                where v.persona_id = p.id and v.version = coalesce(c.persona_version, newest.version)))
        from public.conversations c
        join public.coaching_personas p on p.id = c.persona_id and p.deleted_at is null
            and (p.status = 'published' or p.status = 'unpublished' and c.persona_version is not null)
        cross join lateral (
            select case
                when p.status = 'published' and (p.visibility = 'listed' or p.user_id = c.user_id or exists (
                    select from public.persona_redemptions r where r.user_id = c.user_id and r.persona_id = p.id))
                then p.published_version end as version) newest
        where c.user_id = gateway.user_id() and c.user_id = $1 and c.id = $2 and c.deleted_at is null);
end $$;
