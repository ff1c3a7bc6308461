-- JSON that users write is nested less deep than the gateway reads (128), with room for what encloses it in an answer: a profile nested deeper would make each
-- of the user's turns fail, a card the export. The gateway itself takes 120 from a client. What is nested deeper could not be used and is removed, because a
-- check is also made when another column of its row changes. Other columns of personas could not be so deep: not validated, to take no lock for long.
update public.context_profiles set "values" = '[]' where jsonb_path_exists("values", '$.**{121 to last}');
update public.context_profiles set goals = '[]' where jsonb_path_exists(goals, '$.**{121 to last}');
update public.context_profiles set situation = '[]' where jsonb_path_exists(situation, '$.**{121 to last}');
update public.coaching_personas set card = null where jsonb_path_exists(card, '$.**{121 to last}');
alter table public.context_profiles add constraint context_profiles_nesting_check check (
    not jsonb_path_exists("values", '$.**{121 to last}') and not jsonb_path_exists(goals, '$.**{121 to last}')
    and not jsonb_path_exists(situation, '$.**{121 to last}')) not valid;
alter table public.coaching_personas add constraint coaching_personas_nesting_check check (
    not jsonb_path_exists(domain, '$.**{121 to last}') and not jsonb_path_exists(tone, '$.**{121 to last}')
    and not jsonb_path_exists(methodology, '$.**{121 to last}') and not jsonb_path_exists(personality, '$.**{121 to last}')
    and not jsonb_path_exists(starters, '$.**{121 to last}') and not jsonb_path_exists(languages, '$.**{121 to last}')
    and not jsonb_path_exists(card, '$.**{121 to last}')) not valid;
