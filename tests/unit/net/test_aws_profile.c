#include "net/aws_profile.h"

#include "tap.h"

#include <string.h>

static bool is(const struct aws_profile_value *v, const char *text)
{
    return text ? v->text && strcmp(v->text, text) == 0 : !v->text;
}

/* What the profile "work" (or the default one) has in a file that reads. */
static void check_values(void)
{
    static const struct {
        const char *about, *text;
        bool config;
        const char *name, *key_id, *secret, *region;
        bool found;
    } cases[] = {
        {"nothing", "", false, "default", NULL, NULL, NULL, false},
        {"plain", "[default]\naws_access_key_id=A\naws_secret_access_key=B\n", false, "default",
         "A", "B", NULL, true},
        {"no newline at the end", "[default]\naws_access_key_id=A\naws_secret_access_key=B", false,
         "default", "A", "B", NULL, true},
        {"white space and CR LF",
         "  \r\n[ default ]\r\naws_access_key_id \t=  A \r\nAWS_Secret_Access_Key = B\t\r\n", false,
         "default", "A", "B", NULL, true},
        {"comments",
         "# one\n; two\n[default] # three\naws_access_key_id = A # four\n  # five\n"
         "aws_secret_access_key = B#;= ; six\n",
         false, "default", "A", "B#;=", NULL, true},
        {"another profile", "[a]\naws_access_key_id=A\n[work]\nregion=r\n[b]\nregion=x\n", false,
         "work", NULL, NULL, "r", true},
        {"names count case", "[Work]\nregion=r\n", false, "work", NULL, NULL, NULL, false},
        {"config says profile", "[work]\nregion=no\n[profile work]\nregion=r\n", true, "work", NULL,
         NULL, "r", true},
        {"config: default alone", "[default]\nregion=r\n", true, "default", NULL, NULL, "r", true},
        {"config: profile default", "[profile default]\nregion=r\n", true, "default", NULL, NULL,
         "r", true},
        {"config: quoted", "[profile  \"my work\"]\nregion=r\n", true, "my work", NULL, NULL, "r",
         true},
        {"config: other sections", "[sso-session work]\nregion=x\n[profilework]\nregion=x\n", true,
         "work", NULL, NULL, NULL, false},
        {"credentials do not say profile", "[profile work]\nregion=r\n", false, "work", NULL, NULL,
         NULL, false},
        {"nested settings are not ours",
         "[default]\nregion = r\ns3 =\n  region = no\n  neither this\naws_session_token = t\n",
         false, "default", NULL, NULL, "r", true},
        {"all indented alike", "[default]\n  region = r\n  output = json\n  region = s\n", false,
         "default", NULL, NULL, "s", true},
        {"a section twice", "[work]\nregion=r\n[x]\n[work]\nregion=s\n", false, "work", NULL, NULL,
         "s", true},
        {"empty is not given", "[work]\nregion=r\nregion=\naws_access_key_id=\n", false, "work",
         NULL, NULL, NULL, true},
        {"a mark in front", "\xef\xbb\xbf[work]\nregion=r\n", false, "work", NULL, NULL, "r", true},
        {"'=' in a secret", "[w]\naws_secret_access_key=a/b+c==\naws_access_key_id=A\n", false, "w",
         "A", "a/b+c==", NULL, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct aws_profile p = {0};
        struct err e = {0};
        CHECK(aws_profile_parse("f", cases[i].text, strlen(cases[i].text), cases[i].config,
                                cases[i].name, &p, &e) == 0 &&
                  p.found == cases[i].found && is(&p.key_id, cases[i].key_id) &&
                  is(&p.secret, cases[i].secret) && is(&p.region, cases[i].region),
              "%s %s", cases[i].about, e.text);
        aws_profile_clear(&p);
    }
}

static void check_bad(void)
{
    static const struct {
        const char *text;
        size_t len;
        const char *begins;
    } cases[] = {
        {"[work]\n\ntopsecret\n", 0, "f:3: "},
        {"[work]\n= topsecret\n", 0, "f:2: "},
        {"region = topsecret\n", 0, "f:1: "},
        {"#\r\n[work\r\n", 0, "f:2: "},
        {"[work] topsecret\n", 0, "f:1: "},
        {"[]\n", 0, "f:1: "},
        {"[ ]\n", 0, "f:1: "},
        {"[work]\na\0=b\n", 12, "f:2: "},
        {"[work]\nregion=r\naws_access_key_id=topsecret\n", 0,
         "f:3: profile \"work\" has aws_access_key_id but no aws_secret_access_key"},
        {"[work]\naws_secret_access_key=topsecret\naws_access_key_id=\n", 0,
         "f:2: profile \"work\" has aws_secret_access_key but no aws_access_key_id"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct aws_profile p = {0};
        struct err e = {0};
        size_t len = cases[i].len ? cases[i].len : strlen(cases[i].text);
        CHECK(aws_profile_parse("f", cases[i].text, len, false, "work", &p, &e) < 0 &&
                  e.kind == ERR_USAGE &&
                  strncmp(e.text, cases[i].begins, strlen(cases[i].begins)) == 0 &&
                  !strstr(e.text, "topsecret"),
              "%s", e.text);
        aws_profile_clear(&p);
    }
}

static void check_more(void)
{
    static const char text[] = "[profile a]\naws_session_token=t\ncredential_process = /bin/x\n"
                               "[profile b]\nsso_session = s\n";
    struct aws_profile p = {0};
    struct err e = {0};

    CHECK(aws_profile_parse("f", text, sizeof text - 1, true, "a", &p, &e) == 0 &&
              is(&p.token, "t") && p.token.line == 2 && p.unsupported &&
              strcmp(p.unsupported, "credential_process") == 0,
          "a way we do not go is seen");
    aws_profile_clear(&p);
    CHECK(!p.token.text && !p.found, "cleared");
    CHECK(aws_profile_read("/not/there/at-all", true, "a", &p, &e) == 0 && !p.found,
          "a file that is not there has no profiles");
    CHECK(aws_profile_read("/dev/zero", true, "a", &p, &e) < 0 && e.kind == ERR_USAGE, "%s",
          e.text);
    CHECK(aws_profile_read("/", true, "a", &p, &e) < 0 && e.kind == ERR_IO, "%s", e.text);
}

int main(void)
{
    check_values();
    check_bad();
    check_more();
    return TAP_DONE();
}
