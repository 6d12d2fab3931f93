/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alps/libalpslli.h"
#include "clear.h"
#include "cray/host.h"

enum { FAILED = -1 };

/* The answer that the caller has not fetched yet. */
struct alps_request {
    int status;
    size_t bytes;
    union {
        uint64_t apid;
        struct {
            alpsAppLLIGni_t head;
            alpsAppGni_t more[CRAY_CREDENTIALS_MAX];
        } gni;
    } answer;
};

void cray_alps_request_free(struct alps_request *request)
{
    free(request);
}

/* The holder of the lock makes one request at a time. A thread that locks twice would deadlock. */
int alps_app_lli_lock(void)
{
    struct cray_process *self = cray_process_in_job();

    if (self == NULL || self->alps_locked)
        return FAILED;
    self->alps_locked = true;
    return 0;
}

int alps_app_lli_unlock(void)
{
    struct cray_process *self = cray_process_in_job();

    if (self == NULL || !self->alps_locked)
        return FAILED;
    self->alps_locked = false;
    cray_alps_request_free(self->alps);
    self->alps = NULL;
    return 0;
}

static void answer_credentials(const struct cray_process *self, struct alps_request *request)
{
    const struct cray_job *job = self->job;
    alpsAppLLIGni_t *head = &request->answer.gni.head;
    alpsAppGni_t each;
    uint32_t i;

    assert(job->credentials <= CRAY_CREDENTIALS_MAX);
    head->count = (int)job->credentials;
    for (i = 0; i < job->credentials; i++) {
        memset(&each, 0, sizeof(each));
        each.local_addr = (int)self->address;
        each.ptag = job->credential[i].ptag;
        each.cookie = job->credential[i].cookie;
        memcpy((char *)&request->answer + offsetof(alpsAppLLIGni_t, u) + i * sizeof(each), &each,
               sizeof(each));
    }
    request->bytes = offsetof(alpsAppLLIGni_t, u) + job->credentials * sizeof(each);
    if (request->bytes < sizeof(*head))
        request->bytes = sizeof(*head);
    assert(request->bytes <= sizeof(request->answer));
}

int alps_app_lli_put_request(int32_t request, const void *data, size_t bytes)
{
    struct cray_process *self = cray_process_in_job();
    struct alps_request *answer;

    (void)data;
    (void)bytes;
    if (self == NULL || !self->alps_locked)
        return FAILED;
    answer = calloc(1, sizeof(*answer));
    if (answer == NULL)
        return FAILED;
    cray_alps_request_free(self->alps);
    self->alps = answer;
    switch (request) {
    case ALPS_APP_LLI_ALPS_REQ_APID:
        answer->answer.apid = self->job->apid;
        answer->bytes = sizeof(uint64_t);
        break;
    case ALPS_APP_LLI_ALPS_REQ_GNI:
        answer_credentials(self, answer);
        break;
    case ALPS_APP_LLI_ALPS_REQ_START:
    case ALPS_APP_LLI_ALPS_REQ_EXITING:
        break;
    case ALPS_APP_LLI_ALPS_REQ_SIGNAL: /* programs then send the signal themselves */
        answer->status = ALPS_APP_LLI_ALPS_STAT_FAIL;
        break;
    default:
        answer->status = ALPS_APP_LLI_ALPS_STAT_REQ;
    }
    return 0;
}

int alps_app_lli_put_simple_request(int32_t request, const void *data, size_t bytes)
{
    int status = ALPS_APP_LLI_ALPS_STAT_FAIL;
    size_t count = 0;

    if (alps_app_lli_lock() != 0)
        return FAILED;
    if (alps_app_lli_put_request(request, data, bytes) != 0 ||
        alps_app_lli_get_response(&status, &count) != 0)
        status = ALPS_APP_LLI_ALPS_STAT_FAIL;
    alps_app_lli_unlock();
    return status == ALPS_APP_LLI_ALPS_STAT_OK ? 0 : FAILED;
}

int alps_app_lli_get_response(int *status, size_t *count)
{
    const struct cray_process *self = cray_process_in_job();

    if (status == NULL || count == NULL)
        return FAILED;
    *status = ALPS_APP_LLI_ALPS_STAT_FAIL;
    *count = 0;
    if (self == NULL || self->alps == NULL)
        return FAILED;
    *status = self->alps->status;
    *count = self->alps->bytes;
    return 0;
}

int alps_app_lli_get_response_bytes(void *buffer, size_t bytes)
{
    const struct cray_process *self = cray_process_in_job();

    if (self == NULL || self->alps == NULL || buffer == NULL || bytes > self->alps->bytes)
        return FAILED;
    memcpy(buffer, &self->alps->answer, bytes);
    return 0;
}
