/* What ssh, tar and shells say becomes plain words; words for another shell arrive as they were. */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "exec/child.h"
#include "hand.h"
#include "tap.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_errors(struct exec_host h)
{
    static const struct {
        const char *said, *code;
        enum err_kind kind;
        const char *part;
    } cases[] = {
        {"root@h: Permission denied (publickey).", "255", ERR_DENIED, "refused our key"},
        {"@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.",
         "255", ERR_DENIED, "remove its old key (ssh-keygen -R h)"},
        {"@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\n  remove with:\n  ssh-keygen "
         "-f "
         "\"/a/known\" -R \"[h]:2222\"\nHost key verification failed.",
         "255", ERR_DENIED, "(ssh-keygen -f \"/a/known\" -R \"[h]:2222\")"},
        {"No ED25519 host key is known for h and you have requested strict checking.\nHost key "
         "verification failed.",
         "255", ERR_DENIED, "not known here"},
        {"ssh: connect to host h port 22: Connection refused", "255", ERR_RETRY,
         "cannot be reached"},
        {"ssh: connect to host h port 22: Connection timed out", "255", ERR_RETRY, "timed out"},
        {"ssh: Could not resolve hostname h: Name or service not known", "255", ERR_RETRY,
         "no host of this name"},
        {"Timeout, server h not responding.", "255", ERR_RETRY, "connection broke"},
        {"mkdir: cannot create directory: No space left on device", "1", ERR_IO, "no space left"},
        {"sh: 1: tar: not found", "127", ERR_IO, "has no tar"},
        {"sh: mkdir: Permission denied", "1", ERR_IO, "code 1"},
    };
    AUTO_MEM char *path = mem_printf("%s/ssh", h.root);
    static const char script[] = "#!/bin/sh\nprintf '%s\\n' \"$SAID\" >&2\nexit $CODE\n";

    h.driver = "ssh";
    h.address = "anna@h";
    file_replace(path, script, sizeof script - 1, 0755, NULL);
    setenv("TRADEWIND_SSH", path, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = {0};
        setenv("SAID", cases[i].said, 1);
        setenv("CODE", cases[i].code, 1);
        CHECK(exec_prepare(&h, &e) < 0 && e.kind == cases[i].kind &&
                  strstr(e.text, cases[i].part) && strstr(e.text, "anna@h"),
              "%s", e.text);
    }
    struct err e = {0};
    setenv("TRADEWIND_SSH", "/no/such/ssh", 1);
    CHECK(exec_prepare(&h, &e) < 0 && strstr(e.text, "/no/such/ssh"), "%s", e.text);
    h.address = "-oProxyCommand=touch /tmp/x";
    CHECK(exec_prepare(&h, &e) < 0 && e.kind == ERR_USAGE, "%s", e.text);
}

static void test_quotes(void)
{
    static const char *const words[] = {
        "plain", "", "two words", "it's", "'", "$(touch x) `y` $HOME \\ \" * ~", "new\nline", "-n",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        AUTO_CLEAR(buf) struct buf script, out, said;
        buf_init(&script, 4096);
        buf_init(&out, 4096);
        buf_init(&said, 4096);
        buf_puts(&script, "printf %s ");
        quote_word(&script, words[i]);
        char sh[] = "sh", c[] = "-c";
        char *argv[] = {sh, c, script.data, NULL};
        int code = -1;
        child_run(argv, -1, 30, &out, &said, &code, NULL);
        CHECK(code == 0 && !strcmp(buf_str(&out), words[i]), "word %zu arrives", i);
    }
}

static void test_paths(void)
{
    static const struct {
        const char *path, *quoted;
    } cases[] = {
        {"~", "~"},         {"~/a b", "~/'a b'"},     {"/x", "'/x'"},
        {"-rf", "./'-rf'"}, {"~anna/x", "'~anna/x'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_CLEAR(buf) struct buf b;
        buf_init(&b, 4096);
        quote_path(&b, cases[i].path);
        CHECK(!strcmp(buf_str(&b), cases[i].quoted), "path %s", cases[i].path);
    }
}

int main(void)
{
    test_errors(hand_host());
    test_quotes();
    test_paths();
    return TAP_DONE();
}
