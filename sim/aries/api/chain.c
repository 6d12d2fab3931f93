/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Chained transactions: a full descriptor followed by short ones, which may go to other peers. The
 * chain has one completion. If any element is invalid, nothing is sent.
 */
#include "api/post.h"

#include <assert.h>

#include "nic/amo.h"

#define CHAIN_BYTES_MAX (UINT64_C(1) << 30)
#define CHAIN_BYTES_MAX_SHARED (UINT64_C(1) << 20) /* with a shared FMA descriptor */
#define WORKS_ON_STACK 8u

static bool ep_ok(const struct gni_ep *ep)
{
    return aries_handle_ok(ep, ARIES_MAGIC_EP);
}

/* Each type of element begins with its link to the next one and its endpoint. */
static gni_ct_put_post_descriptor_t *next_of(const gni_post_descriptor_t *head)
{
    return head->next_descr;
}

/* The head of a chain and its elements have these members, under the same names. */
#define COMMON_MEMBERS(descr)                                               \
    .local_addr = (descr)->local_addr, .remote_addr = (descr)->remote_addr, \
    .length = (descr)->length, .remote_handle = &(descr)->remote_mem_hndl
/* So have the head and an element with an atomic operation. */
#define AMO_MEMBERS(descr)                                                \
    .amo_cmd = (descr)->amo_cmd, .first_operand = (descr)->first_operand, \
    .second_operand = (descr)->second_operand, .local_handle = &(descr)->local_mem_hndl

/* Corrects the length of an atomic operation, which needs a local handle only if it fetches. */
static struct aries_post_element amo_element(struct aries_post_element element)
{
    element.length = aries_amo_length(element.amo_cmd, element.length);
    if (!aries_amo_fetches(element.amo_cmd))
        element.local_handle = NULL;
    return element;
}

static struct aries_post_element chained_element(gni_post_type_t type,
                                                 const gni_ct_put_post_descriptor_t *put)
{
    const gni_ct_get_post_descriptor_t *get = (const void *)put;
    const gni_ct_amo_post_descriptor_t *amo = (const void *)put;

    if (type == GNI_POST_AMO)
        return amo_element((struct aries_post_element){COMMON_MEMBERS(amo), AMO_MEMBERS(amo)});
    return (struct aries_post_element){
        COMMON_MEMBERS(put),
        .local_handle = type == GNI_POST_FMA_GET ? &get->local_mem_hndl : NULL,
    };
}

/* Converts the head of a chain to the form of its other elements. */
static struct aries_post_element head_element(const gni_post_descriptor_t *head)
{
    if (head->type == GNI_POST_AMO)
        return amo_element((struct aries_post_element){COMMON_MEMBERS(head), AMO_MEMBERS(head)});
    return (struct aries_post_element){
        COMMON_MEMBERS(head),
        .local_handle = head->type == GNI_POST_FMA_GET ? &head->local_mem_hndl : NULL,
    };
}

static gni_return_t check_element(const struct gni_nic *nic, const struct gni_ep *ep,
                                  gni_post_type_t type, const struct aries_post_element *element)
{
    gni_return_t result;

    if (!ep_ok(ep) || ep->nic != nic || !aries_ep_bound(ep))
        return GNI_RC_INVALID_PARAM;
    result = aries_fma_check_element(type, element);
    if (result == GNI_RC_SUCCESS)
        result = aries_fma_check_command(nic, type, element->amo_cmd);
    return result;
}

static gni_return_t check_chain(const struct aries_post *post, uint32_t *count)
{
    const gni_post_descriptor_t *head = post->descr;
    const struct gni_nic *nic = post->ep->nic;
    const gni_ct_put_post_descriptor_t *link;
    struct aries_post_element element = head_element(head);
    uint64_t most = nic->fma_shared ? CHAIN_BYTES_MAX_SHARED : CHAIN_BYTES_MAX;
    uint64_t bytes = element.length;
    gni_return_t result = check_element(nic, post->ep, head->type, &element);

    *count = 1;
    for (link = next_of(head); link != NULL && result == GNI_RC_SUCCESS; link = link->next_descr) {
        element = chained_element(head->type, link);
        result = check_element(nic, link->ep_hndl, head->type, &element);
        if (bytes <= most)
            bytes += element.length <= most ? element.length : most + 1;
        ++*count;
    }
    if (result == GNI_RC_SUCCESS && bytes > most)
        return GNI_RC_SIZE_ERROR;
    return result;
}

/* The checks that both calls do before those of the elements. */
static bool head_ok(const struct gni_ep *ep, const gni_post_descriptor_t *head)
{
    return ep_ok(ep) && head != NULL && (head->cq_mode & GNI_CQMODE_LOCAL_EVENT) == 0 &&
           aries_delivery_valid(head->dlvr_mode) &&
           (head->dlvr_mode & GNI_DLVMODE_ORDERED_TAIL) == 0;
}

/* Memory for the works of a chain: on the caller's stack if they are few. */
static struct aries_work *works_new(struct aries_work *few, uint32_t count)
{
    if (count > WORKS_ON_STACK)
        return g_new0(struct aries_work, count);
    return memset(few, 0, count * sizeof(*few));
}

static void works_free(struct aries_work *few, struct aries_work *works)
{
    if (works != few)
        g_free(works);
}

/* All elements use the delivery mode and the remote event of the head. */
static void common_fill(const struct aries_post *post, struct aries_work *works, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        aries_work_fill(&works[i], post->ep, post->descr);
}

gni_return_t GNI_CtPostFma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
    struct aries_post post = {.ep = ep_hndl, .descr = post_descr, .call = "GNI_CtPostFma"};
    struct aries_work few[WORKS_ON_STACK], *works;
    const gni_ct_put_post_descriptor_t *link;
    struct aries_post_element element;
    gni_return_t result;
    uint32_t count, i = 0;

    if (!head_ok(ep_hndl, post_descr) ||
        (post_descr->type != GNI_POST_FMA_PUT && post_descr->type != GNI_POST_FMA_GET &&
         post_descr->type != GNI_POST_AMO))
        return GNI_RC_INVALID_PARAM;
    result = check_chain(&post, &count);
    if (result == GNI_RC_SUCCESS)
        result = aries_fma_check_events(&post);
    if (result != GNI_RC_SUCCESS)
        return result;
    works = works_new(few, count);
    common_fill(&post, works, count);
    element = head_element(post_descr);
    aries_fma_fill(&works[i++], ep_hndl, post_descr->type, &element);
    for (link = next_of(post_descr); link != NULL; link = link->next_descr) {
        element = chained_element(post_descr->type, link);
        aries_fma_fill(&works[i++], link->ep_hndl, post_descr->type, &element);
    }
    assert(i == count);
    result = aries_post_launch(&post, works, count);
    works_free(few, works);
    return result;
}

static gni_return_t check_cqwrites(const struct aries_post *post, uint32_t *count)
{
    const gni_ct_cqw_post_descriptor_t *link;

    if (!aries_ep_bound(post->ep))
        return GNI_RC_INVALID_PARAM;
    *count = 1;
    for (link = post->descr->next_descr; link != NULL; link = link->next_descr) {
        if (!ep_ok(link->ep_hndl) || link->ep_hndl->nic != post->ep->nic ||
            !aries_ep_bound(link->ep_hndl))
            return GNI_RC_INVALID_PARAM;
        ++*count;
    }
    return GNI_RC_SUCCESS;
}

gni_return_t GNI_CtPostCqWrite(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
    struct aries_post post = {.ep = ep_hndl, .descr = post_descr, .call = "GNI_CtPostCqWrite"};
    struct aries_work few[WORKS_ON_STACK], *works;
    const gni_ct_cqw_post_descriptor_t *link;
    gni_return_t result;
    uint32_t count, i = 0;

    if (!head_ok(ep_hndl, post_descr) || post_descr->type != GNI_POST_CQWRITE)
        return GNI_RC_INVALID_PARAM;
    result = check_cqwrites(&post, &count);
    if (result == GNI_RC_SUCCESS)
        result = aries_fma_check_events(&post);
    if (result != GNI_RC_SUCCESS)
        return result;
    works = works_new(few, count);
    common_fill(&post, works, count);
    aries_cqwrite_fill(&works[i++], ep_hndl, &post_descr->remote_mem_hndl,
                       post_descr->cqwrite_value);
    for (link = post_descr->next_descr; link != NULL; link = link->next_descr)
        aries_cqwrite_fill(&works[i++], link->ep_hndl, &link->remote_mem_hndl, link->cqwrite_value);
    assert(i == count);
    result = aries_post_launch(&post, works, count);
    works_free(few, works);
    return result;
}
