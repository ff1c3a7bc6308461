/// The scripts and style sheets of the dashboard, from the folder `Static`.
enum DashboardFiles {
    static let all: [String: PageFile] = [
        "base.css": PageFile(.css, PackageResources.base_css),
        "dashboard.css": PageFile(.css, PackageResources.dashboard_css),
        "signin.js": PageFile(.script, PackageResources.signin_js),
        "app.js": PageFile(.script, PackageResources.app_js),
        "api.js": PageFile(.script, PackageResources.api_js),
        "dom.js": PageFile(.script, PackageResources.dom_js),
        "format.js": PageFile(.script, PackageResources.format_js),
        "period.js": PageFile(.script, PackageResources.period_js),
        "charts.js": PageFile(.script, PackageResources.charts_js),
        "table.js": PageFile(.script, PackageResources.table_js),
        "figures.js": PageFile(.script, PackageResources.figures_js),
        "overview.js": PageFile(.script, PackageResources.overview_js),
        "alerts.js": PageFile(.script, PackageResources.alerts_js),
        "audit.js": PageFile(.script, PackageResources.audit_js),
        "editor.js": PageFile(.script, PackageResources.editor_js),
        "difference.js": PageFile(.script, PackageResources.difference_js),
        "users.js": PageFile(.script, PackageResources.users_js),
        "views.js": PageFile(.script, PackageResources.views_js),
    ]
}
