// A link on another site opens this page without the session's cookie (SameSite=Strict). A request of the page itself has it, and gets the dashboard;
// without a session it gets this form again, where /operator/session would be an error in the console.
if (!document.querySelector(".problem")) {
  const page = await fetch("/operator", { cache: "no-store" });
  if (page.ok && !(await page.text()).includes('action="/operator/session"')) location.reload();
}
