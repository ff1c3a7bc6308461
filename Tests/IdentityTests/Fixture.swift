/// Keys and tokens that were created with Python (`cryptography` 48, `hmac`), so that verification is tested with an independent signer.
/// The clock is fixed at 2026-01-01T00:00:00Z; the tokens are valid for an hour.
enum Fixture {
    static let now = 1767225600.0
    static let secret = #"test-secret-of-at-least-thirty-two-bytes!"#
    static let jwks = #"""
        {"keys":[{"kty":"RSA","kid":"rsa-1","use":"sig","n":"sls6hatJ1Jg9hI2LIHwChI4mqvdyWBOq7fYD3yO5BYJZxXlA_a5BrIr1RdzFvLUiDNy\#
        YrKRj67cRBlno37K2h3Rlqh4wgjdAxFeVfqqJ0hOsTuS5Bl6h8x-i77KqaxHALathmgYGc8xfe1QS4zwSLSiEW8Qo9GsEjANtT_tq64kaZg5rpdgTkZveKpF\#
        Sg3HyF88wN2PUIH08le0HQma7xxP5IfrUdwMj02g_JP6EL8tt0nLdOZk-DNW90h5fe1l4P12JLfuuhiLp19jCGv95vLd932sah0LEBx9D_Y4_kJ2aBUzzWQ5\#
        fHloiG7XTpljlWFGLC7ZhND-iA4cyMep71Q","e":"AQAB"},{"kty":"EC","kid":"ec-1","alg":"ES256","crv":"P-256","x":"vzTAPmOM_Rxmp\#
        a0Z5cvY1KlRtzn3C0d0eucfxeSrlwM","y":"ld5CvnvaF0VLZvh5zG4Bi4zlvymb9YpOUsNHlefrw2U","key_ops":["verify"]},{"kty":"OKP","ki\#
        d":"ed-1","crv":"Ed25519","x":"gvCkHnK9VIYu6wTZs5PYTf6ZrvWpbjFc1EtYVq7a5rU"}]}
        """#
    static let secondKey = #"""
        {"kty":"EC","kid":"ec-2","alg":"ES256","crv":"P-256","x":"eDcpiJ0cMLi2tXQYzh5sh2M16xAlyq4rzaz_WOQ1apc","y":"qQQGjvzpb3ND\#
        zBfnP4nTegtZHhV-vtn8hJh6jTzEXTc"}
        """#
    static let hs256 = #"""
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3NjcyMjU2MDAsImlzcyI\#
        6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsInJvbGUiOiJhdXRoZW5\#
        0aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib3BlcmF0b3IifSwidXN\#
        lcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.VvQkiZB9wXs95M9qZ4HtEaSYPF06_HkSzGBLRR8P8oo
        """#
    static let hs256WithKid = #"""
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImxlZ2FjeS0xIn0.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQi\#
        OjE3NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1\#
        NSIsInJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xl\#
        Ijoib3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.59JbIxprYo9CsSDn706HIhKHFNkDBjbC-7XdfwzrI1M
        """#
    static let rs256 = #"""
        eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3\#
        NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIs\#
        InJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoi\#
        b3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.SPGz2GZCtfqz3dsOz7ph1WRJzQu4QlHHn2bAbtMos_SEXNqfGrmOtXEfw\#
        lE2Igsyt7hkxRr9fNVKk_HS3rSp7czinFjWMLNgY2wcZBeg-ZLNOcuORrK8bCJy3l6a7eOfIUbELzKERL4OcWSulC2vnRRAYP2iDvy2xdeXE1kCPFB22diRn\#
        sMs66VJgPVsslN32MGe1KkwaJvoqnwzYHPNlsc9lpKRgCLhr_9HHv8KWWYrJHLKeTJyOS5VtO6MDTGTZOXcEE2l8itHIh5mbMUW7v7yZp3NHilBmy_vfCPyY\#
        U2_g30tGJFLXaNWWd-r1kd5furmadBgL0d6pIwDzTPzSw
        """#
    static let es256 = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.0zCII9BGl34-lT4142sDKwpvGgr7GduzkjBGKOP_95qJhmMNWBsK0s9Pms\#
        kIdmkZTit72hgY4wukCXK6mrGGRg
        """#
    static let edDSA = #"""
        eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCIsImtpZCI6ImVkLTEifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.YyaGZYD2knH6M4fC6j8bUGFxq_0rQHDjNK_sXp19wotNzcpZRvIIk6zpEx\#
        FHNQRSDJOMBT3EZYcda8OsmyrrDg
        """#
    static let es256OfSecondKey = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTIifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.KPSacNbj1DreRHXlXDITZ85yWVxvKrEo4cwIYzYxx_VNxtyUQkwJDlUaJt\#
        nCSWtcFcyp48VB8Tn8Ua6WL3X0FA
        """#
    static let hs256WithPublicKeyAsSecret = #"""
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3\#
        NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIs\#
        InJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoi\#
        b3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.kMYKOqF0oXNs_Cs0aXgfNErMCl_ZhDitq417WoUvOLQ
        """#
    static let hs256WithPublicKeyBytesAsSecretAndNoKid = #"""
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3NjcyMjU2MDAsImlzcyI\#
        6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsInJvbGUiOiJhdXRoZW5\#
        0aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib3BlcmF0b3IifSwidXN\#
        lcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.pW9MJ5yw-sUKTGGlscc8ZQrpJpCCCnyGdhxJHFQ9IGk
        """#
    static let hs256OfSecretWithKidOfPublicKey = #"""
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3\#
        NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIs\#
        InJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoi\#
        b3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.4p_8i6xbTrYmyIOFqD9-qybRtBXg-31B7odsAff3Z7Y
        """#
    static let rs256NamingElliptic = #"""
        eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.j3N8kmEwg9pt9EgYUQDax2ja5D00GHOJVIrDLz9Xzg9pOuhHrP2v76h6dy\#
        apuIpuJI3v4ec9ZfLACTprXyHBWJhT6lt349QgGf2UCHbHIsyLL8q3XG64pUaR9jteikNfCAIaQIKPqMOf6vWT71XI97slEkIOcPwEgVyGoPQuozqDgo7ViV\#
        9JZ8SXuL-U1gMJ5oMa8nHIGs5V0blTG03ZuciqGGaLx8GxqfRncLZ5XJf9f9APFCyG9XNGa3gVeL5BdF1e25bdzUcgt8nOiZf-Jt7MxMltUnGRkbGtZnLzqo\#
        Jm3sMxuw9j2BzcDmCHTdPZpQwdvuVtO1fgGPcD09R6EQ
        """#
    static let es256NamingRSA = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3\#
        NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIs\#
        InJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoi\#
        b3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.CP0adTrxGaX3OccCsL4O0WN5P_Z9ymNAlqxzmu_dTtNoeQ2GkJV4rGW6W\#
        -f0Hr-9vHTZJbifbR6NkSyfREhJ7Q
        """#
    static let rs384 = #"""
        eyJhbGciOiJSUzM4NCIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3\#
        NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIs\#
        InJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoi\#
        b3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.nmqn9obwOEtw3udhPMY4u2a89ekouOBaV0JJJqhoeRrDdaz6fJ9YTWJHw\#
        u9MlGhq3ze-hS87-MjjY6SFToQUpGYTgp3wgVYkfhjYbd7Oo4V1SofqzDN0p2NydkHn_cLLQ_GhNTIkARYcLo9YTBl5yR6JcorKox4bioDhdIh7x4nM2X4yx\#
        Tk1ZHIS8dXCEQ4TgJlSE515lDdirHVt6-MEkJAme7RNGGLJNii67M7wTxPZ4_WJb-IU5FOmFeaF3l18HckIKpq0m8102dHnNQOMBa0H2RK_BHZ32ydVLvAC2\#
        P319dH3hv3MORrWb0bir8qnb_N18-mIe7_eIMyZFswARQ
        """#
    static let ps256 = #"""
        eyJhbGciOiJQUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6InJzYS0xIn0.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3\#
        NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIs\#
        InJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoi\#
        b3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.ZcEnGDlG_XdMbqbN6CDUVAbMQe2B8b-CiFb3u4JCp1DrALvnItigEnlFL\#
        EoflsdqxY-UzShGRfoMF-oTRnLeJ_mZfOpwSdAMORjFzAY5hzta4rt45kOHQTY5CnzuUC2SAdoOSC8XbGuSnyEQE2pdsEz9215He0xwQYZRb7Sj3WaNfZR9u\#
        bNHs1wxobz6sbu1SwUcN1CtawtzjKFb4__iQ2QymDWwFfMi_x4iIDBJU9plhZsnm-2UHkLs23s6IRiZc-AHtWXP70Jcj8C1_QY3z4msj323dff_3gkqu0w20\#
        oBuzIYVHUX7l1k-XODaz171XHEm77D0uZU37W6DFJYLnQ
        """#
    static let es256WithoutKid = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3NjcyMjU2MDAsImlzcyI\#
        6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsInJvbGUiOiJhdXRoZW5\#
        0aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib3BlcmF0b3IifSwidXN\#
        lcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.Dsy-aIxGdZNHKkgocw2Acp1cq-rBtUxGEPEEhtudmjob0T5wBIwyDpXAcc4DJ8q3dxhaBh8KIPpm\#
        khfZyMedRg
        """#
    static let es256UnknownKid = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTkifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.gxxq1ukK7biQ1trRvgz61riuUcv9qtUeWh8TYyGHGUSKRZ5E-OkOTrowjQ\#
        5E_7S6qi9FX60yb57ciKKtn0gdKg
        """#
    static let es256InDER = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.MEYCIQDmS9jdQ4uKFDsn16aYltXqmCBEJUxTPe3IRVm-_z3-BAIhAJR47p\#
        D7sAZm4xPZfpQvWUrTUIt4zZ2Vpufu69JeOAUC
        """#
    static let es256OfAnotherKey = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.51mj9Kz612jsmba0-o9oQ_Ps6FkSP7e575c4x4b2OPh0VL_qbk8cXLQKhq\#
        izBBlNoMzpaprhSRm0mhqHMhbfTA
        """#
    static let es256WithItsOwnKeyInTheHeader = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImV2aWwiLCJqd2siOnsia3R5IjoiRUMiLCJjcnYiOiJQLTI1NiIsIngiOiJOdjZ5ZWVfdnRWclMx\#
        YVUxZkJycEl5RWszSlF6RVVHaTNia05Tc0pfWGNNIiwieSI6IjF2Mk42am1jdnFrRUpvNnpiYVN3cjR0X1ZtMVI5ZGtvWmNFekM5dlV0N1UifX0.eyJhdWQi\#
        OiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3NjcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1\#
        YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsInJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwi\#
        YXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.l\#
        yLs-zC-4waaiu9rwmj-ONikPVjudNGhFZE0oVFSHfjM5wKNJ3TFDoF_gSOPHNJknT6pfWhAPb7fIddl8kpHiA
        """#
    static let es256OfZeros = #"""
        eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImVjLTEifQ.eyJhdWQiOiJhdXRoZW50aWNhdGVkIiwiZXhwIjoxNzY3MjI5MjAwLCJpYXQiOjE3N\#
        jcyMjU2MDAsImlzcyI6Imh0dHBzOi8vaXNzdWVyLnRlc3QvYXV0aC92MSIsInN1YiI6IjExMTExMTExLTIyMjItNDMzMy04NDQ0LTU1NTU1NTU1NTU1NSIsI\#
        nJvbGUiOiJhdXRoZW50aWNhdGVkIiwiZW1haWwiOiJ4QGV4YW1wbGUuY29tIiwiYXBwX21ldGFkYXRhIjp7InByb3ZpZGVyIjoiYXBwbGUiLCJyb2xlIjoib\#
        3BlcmF0b3IifSwidXNlcl9tZXRhZGF0YSI6eyJyb2xlIjoiY3JlYXRvciJ9fQ.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\#
        AAAAAAAAAAAAAAAAAAAAAAAAAAAA
        """#
}
