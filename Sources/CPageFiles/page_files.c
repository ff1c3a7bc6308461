#include "page_files.h"

#include <string.h>

static const uint8_t alerts_js[] = {
#embed "Static/alerts.js"
};
static const uint8_t api_js[] = {
#embed "Static/api.js"
};
static const uint8_t app_js[] = {
#embed "Static/app.js"
};
static const uint8_t audit_js[] = {
#embed "Static/audit.js"
};
static const uint8_t base_css[] = {
#embed "Static/base.css"
};
static const uint8_t charts_js[] = {
#embed "Static/charts.js"
};
static const uint8_t dashboard_css[] = {
#embed "Static/dashboard.css"
};
static const uint8_t dashboard_html[] = {
#embed "Static/dashboard.html"
};
static const uint8_t difference_js[] = {
#embed "Static/difference.js"
};
static const uint8_t dom_js[] = {
#embed "Static/dom.js"
};
static const uint8_t editor_js[] = {
#embed "Static/editor.js"
};
static const uint8_t figures_js[] = {
#embed "Static/figures.js"
};
static const uint8_t format_js[] = {
#embed "Static/format.js"
};
static const uint8_t overview_js[] = {
#embed "Static/overview.js"
};
static const uint8_t period_js[] = {
#embed "Static/period.js"
};
static const uint8_t signin_html[] = {
#embed "Static/signin.html"
};
static const uint8_t signin_js[] = {
#embed "Static/signin.js"
};
static const uint8_t stream_js[] = {
#embed "Static/stream.js"
};
static const uint8_t table_js[] = {
#embed "Static/table.js"
};
static const uint8_t try_css[] = {
#embed "Static/try.css"
};
static const uint8_t try_html[] = {
#embed "Static/try.html"
};
static const uint8_t try_js[] = {
#embed "Static/try.js"
};
static const uint8_t users_js[] = {
#embed "Static/users.js"
};
static const uint8_t views_js[] = {
#embed "Static/views.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}

static const page_file_t files[] = {
    FILE("alerts.js", alerts_js),
    FILE("api.js", api_js),
    FILE("app.js", app_js),
    FILE("audit.js", audit_js),
    FILE("base.css", base_css),
    FILE("charts.js", charts_js),
    FILE("dashboard.css", dashboard_css),
    FILE("dashboard.html", dashboard_html),
    FILE("difference.js", difference_js),
    FILE("dom.js", dom_js),
    FILE("editor.js", editor_js),
    FILE("figures.js", figures_js),
    FILE("format.js", format_js),
    FILE("overview.js", overview_js),
    FILE("period.js", period_js),
    FILE("signin.html", signin_html),
    FILE("signin.js", signin_js),
    FILE("stream.js", stream_js),
    FILE("table.js", table_js),
    FILE("try.css", try_css),
    FILE("try.html", try_html),
    FILE("try.js", try_js),
    FILE("users.js", users_js),
    FILE("views.js", views_js),
};

const page_file_t *page_file(const char *name) {
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(files[i].name, name) == 0) return &files[i];
    }
    return NULL;
}
