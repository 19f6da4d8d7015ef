/* Signed calls of AWS's services. */
#include "net/aws_post.h"

#include "base/auto.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static const char *variables[][2] = {{NULL, NULL}, {NULL, NULL}};

static const char *variable(void *context, const char *name)
{
    (void)context;
    for (size_t i = 0; i < 2; i++)
        if (variables[i][0] && strcmp(variables[i][0], name) == 0)
            return variables[i][1];
    return NULL;
}

static bool is_endpoint(const char *service, const char *region, const char *expected)
{
    AUTO_MEM char *url = aws_endpoint(service, region, variable, NULL);

    printf("# %s\n", url);
    return strcmp(url, expected) == 0;
}

static void check_endpoints(void)
{
    CHECK(is_endpoint("ec2", "eu-west-1", "https://ec2.eu-west-1.amazonaws.com/"), "AWS's own");
    CHECK(is_endpoint("ec2", "cn-north-1", "https://ec2.cn-north-1.amazonaws.com.cn/"), "in China");
    variables[0][0] = "AWS_ENDPOINT_URL";
    variables[0][1] = "http://127.0.0.1:1";
    CHECK(is_endpoint("sts", "eu-west-1", "http://127.0.0.1:1/"), "of all services");
    variables[1][0] = "AWS_ENDPOINT_URL_EC2";
    variables[1][1] = "http://127.0.0.1:2/x/";
    CHECK(is_endpoint("ec2", "eu-west-1", "http://127.0.0.1:2/x/"), "of one service");
    CHECK(is_endpoint("sts", "eu-west-1", "http://127.0.0.1:1/"), "and not of another");
}

static void check_form(void)
{
    AUTO_CLEAR(buf) struct buf form;

    buf_init(&form, 1000);
    aws_form_add(&form, "Action", "DescribeInstances");
    aws_form_add(&form, "Filter.1.Name", "tag:a b/+&");
    CHECK(strcmp(buf_str(&form), "Action=DescribeInstances&Filter.1.Name=tag%3Aa%20b%2F%2B%26") ==
              0,
          "%s", buf_str(&form));
}

/* The signature was computed with botocore 1.29.27 (SigV4Auth, the same headers). */
static void check_headers(void)
{
    static char key[] = "AKIDEXAMPLE", secret[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                token[] = "session";
    struct credentials c = {.key_id = key, .secret = {secret}};
    struct aws_post p = {.service = "ec2",
                         .region = "us-east-1",
                         .url = "https://ec2.us-east-1.amazonaws.com/",
                         .body = "Action=DescribeRegions&Version=2016-11-15"};
    AUTO_CLEAR(aws_post_headers) struct aws_post_headers h = {0};
    AUTO_CLEAR(aws_post_headers) struct aws_post_headers j = {0};
    struct err e = {0};

    CHECK(aws_post_sign(&p, &c, 1440938160, &h, &e) == 0, "signed %s", e.text);
    CHECK(strcmp(h.items[0], "host: ec2.us-east-1.amazonaws.com") == 0 &&
              strcmp(h.items[1],
                     "content-type: application/x-www-form-urlencoded; charset=utf-8") == 0 &&
              strcmp(h.items[2], "x-amz-date: 20150830T123600Z") == 0 && !h.items[4],
          "of a form");
    CHECK(strstr(h.items[3], "SignedHeaders=content-type;host;x-amz-date, Signature="
                             "0961b80cfe2d492b65901a9220582465d0ed2094d2964a79fe0e9fdd612541ab"),
          "%s", h.items[3]);
    c.token.hidden = token;
    p.target = "AmazonSSM.GetParameter";
    p.body = "{}";
    CHECK(aws_post_sign(&p, &c, 1440938160, &j, &e) == 0 &&
              strcmp(j.items[1], "content-type: application/x-amz-json-1.1") == 0 &&
              strcmp(j.items[2], "x-amz-target: AmazonSSM.GetParameter") == 0 &&
              strcmp(j.items[5], "x-amz-security-token: session") == 0 &&
              strstr(j.items[4], "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"),
          "of JSON, with a session");
}

int main(void)
{
    check_endpoints();
    check_form();
    check_headers();
    return TAP_DONE();
}
