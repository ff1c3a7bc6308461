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

static const page_file_t files[] = {
    {"alerts.js", alerts_js, sizeof alerts_js},
    {"api.js", api_js, sizeof api_js},
    {"app.js", app_js, sizeof app_js},
    {"audit.js", audit_js, sizeof audit_js},
    {"base.css", base_css, sizeof base_css},
    {"charts.js", charts_js, sizeof charts_js},
    {"dashboard.css", dashboard_css, sizeof dashboard_css},
    {"dashboard.html", dashboard_html, sizeof dashboard_html},
    {"difference.js", difference_js, sizeof difference_js},
    {"dom.js", dom_js, sizeof dom_js},
    {"editor.js", editor_js, sizeof editor_js},
    {"figures.js", figures_js, sizeof figures_js},
    {"format.js", format_js, sizeof format_js},
    {"overview.js", overview_js, sizeof overview_js},
    {"period.js", period_js, sizeof period_js},
    {"signin.html", signin_html, sizeof signin_html},
    {"signin.js", signin_js, sizeof signin_js},
    {"stream.js", stream_js, sizeof stream_js},
    {"table.js", table_js, sizeof table_js},
    {"try.css", try_css, sizeof try_css},
    {"try.html", try_html, sizeof try_html},
    {"try.js", try_js, sizeof try_js},
    {"users.js", users_js, sizeof users_js},
    {"views.js", views_js, sizeof views_js},
};

const page_file_t *page_file(const char *name) {
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(files[i].name, name) == 0) return &files[i];
    }
    return NULL;
}
