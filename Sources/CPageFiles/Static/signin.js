// A link on another site opens this page without the session's cookie (SameSite=Strict). A request of the page itself has it.
const session = await fetch("/operator/session", { cache: "no-store" });
if (session.ok && !document.querySelector(".problem")) location.reload();
