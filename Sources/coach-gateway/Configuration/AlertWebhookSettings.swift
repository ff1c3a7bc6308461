import Identity
import OutboundHTTP
import Webhooks

/// Where alerts are sent to.
struct AlertWebhookSettings: Sendable {
    var url: String
    var secret: String

    /// nil when it is not configured; what is wrong becomes a finding of `settings`.
    init?(_ settings: inout Settings) {
        switch (settings.text(.alertWebhookURL), settings.text(.alertWebhookSecret)) {
        case (let url?, let secret?):
            do { try KeySource.check(url: url) } catch { settings.complain(.alertWebhookURL, "\(error)") }
            self.url = url
            self.secret = secret
        case (nil, nil): return nil
        case (nil, _):
            settings.complain(.alertWebhookURL, "is needed with \(SettingKey.alertWebhookSecret.name)")
            return nil
        case (_, nil):
            settings.complain(.alertWebhookSecret, "is needed with \(SettingKey.alertWebhookURL.name)")
            return nil
        }
    }

    func webhook(_ client: OutboundHTTPClient) -> AlertWebhook { AlertWebhook(url: url, secret: secret, client: client) }
}
