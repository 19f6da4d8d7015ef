/* Operations of administrators, called without a command line. */
#include "app/admin/admin.h"
#include "calling.h"
#include "tap.h"

#include <string.h>

/* Errors name the field over HTTP and the option on the command line. */
static void test_spelling(struct calling *c, const char *operation, json_t *request)
{
    static const struct {
        enum field_spelling spelling;
        const char *data, *admin;
    } cases[] = {
        {FIELD_AS_NAME, "region is for a store in a bucket: store s3://",
         "forget ghost: no such host is in use"},
        {FIELD_AS_OPTION, "--region is for a store in a bucket: --store s3://",
         "--forget ghost: no such host is in use"},
    };
    bool is_admin = strcmp(operation, "machine.cleanup") == 0;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        c->spelling = cases[i].spelling;
        CHECK(calling_call(c, operation, json_deep_copy(request)) < 0 && c->err.kind == ERR_USAGE &&
                  strstr(c->err.text, is_admin ? cases[i].admin : cases[i].data) == c->err.text,
              "%s: %s", operation, c->err.text);
    }
    c->spelling = FIELD_AS_NAME;
    json_decref(request);
}

static void test_config(struct calling *c)
{
    CHECK(calling_call(c, "config.get", json_pack("{s:s}", "key", "plan.boot_s")) == 0 &&
              strcmp(calling_text(c->head, "origin"), "default") == 0 &&
              json_is_number(json_object_get(c->head, "value")) &&
              atof(calling_text(c->head, "text")) == calling_number(c->head, "value"),
          "a setting has its value and its text: %s", c->err.text);
    calling_put(c, "config.yaml", "plan:\n  boot_s: 60.50\n");
    CHECK(calling_call(c, "config.get", json_pack("{s:s}", "key", "plan.boot_s")) == 0 &&
              strcmp(calling_text(c->head, "text"), "60.50") == 0 &&
              calling_number(c->head, "line") == 2,
          "the text is the file's: %s", calling_text(c->head, "text"));
}

int main(void)
{
    struct calling c;

    calling_open(&c);
    test_spelling(&c, "machine.cleanup", json_pack("{s:[s]}", "forget", "ghost"));
    test_spelling(&c, "lake.init", json_pack("{s:s}", "region", "eu-west-1"));
    test_config(&c);
    calling_close(&c);
    return TAP_DONE();
}
