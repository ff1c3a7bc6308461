-- Replaces a part of a function's body, in place of the block that migrations have repeated for it. The part must be there exactly once. Privileges stay.
create function gateway.edit_function(edited regprocedure, old text, new text) returns void
    language plpgsql set search_path = '' as $$
declare
    definition constant text := pg_get_functiondef(edited);
    occurrences constant integer := (length(definition) - length(replace(definition, old, ''))) / nullif(length(old), 0);
begin
    if occurrences is distinct from 1 then
        raise exception '% has the text that is replaced % times, not once: %', edited, occurrences, old;
    end if;
    execute replace(definition, old, new);
end $$;

revoke all on function gateway.edit_function(regprocedure, text, text) from public, anon, authenticated, coach_gateway;
