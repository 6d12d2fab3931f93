/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What programs ask about the library, its cards and its errors. */
#include <string.h>

#include "devices.h"

enum { CARD_TYPE = 330 }; /* Dolphin's D330, a card of the year 2000 */

static void query_adapter(const sci_query_adapter_t *query, sci_error_t *error)
{
    const struct sci_card *card;
    unsigned *data = query->data;

    if (sci_fails(error, data == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                         : query->subcommand < SCI_Q_ADAPTER_SERIAL_NUMBER ||
                                 query->subcommand > SCI_Q_ADAPTER_LINK_OPERATIONAL
                             ? SCI_ERR_ILLEGAL_QUERY
                             : SCI_ERR_OK))
        return;
    card = sci_card_find(query->localAdapterNo, error);
    if (card == NULL)
        return;
    switch (query->subcommand) {
    case SCI_Q_ADAPTER_SERIAL_NUMBER:
        *data = 1 + card->endpoint;
        break;
    case SCI_Q_ADAPTER_CARD_TYPE:
        *data = CARD_TYPE;
        break;
    case SCI_Q_ADAPTER_NUMBER_OF_LINKS:
        *data = 1;
        break;
    case SCI_Q_ADAPTER_NODEID:
        *data = sci_node_of(card);
        break;
    default:
        sim_settle();
        *data = sci_access(card, card) == SCI_ERR_OK;
    }
}

static void query_string(sci_query_string_t *query, const char *text, sci_error_t *error)
{
    unsigned size = (unsigned)strlen(text) + 1;

    if (sci_fails(error, query->str == NULL     ? SCI_ERR_ILLEGAL_PARAMETER
                         : query->length < size ? SCI_ERR_NOSPC
                                                : SCI_ERR_OK))
        return;
    memcpy(query->str, text, size);
    query->length = size;
}

void SCIQuery(unsigned command, void *data, unsigned flags, sci_error_t *error)
{
    if (!sci_flags_ok(flags, 0, error) ||
        sci_fails(error,
                  command != SCI_Q_ADAPTER && command != SCI_Q_API && command != SCI_Q_VENDORID
                      ? SCI_ERR_ILLEGAL_QUERY
                  : data == NULL ? SCI_ERR_ILLEGAL_PARAMETER
                                 : SCI_ERR_OK))
        return;
    if (command == SCI_Q_ADAPTER)
        query_adapter(data, error);
    else
        query_string(data, command == SCI_Q_API ? "SISCI API 1.10" : "Jacquard", error);
}

void SCIGetLocalNodeId(unsigned adapter, unsigned *node, unsigned flags, sci_error_t *error)
{
    sci_query_adapter_t query = {adapter, 0, SCI_Q_ADAPTER_NODEID, node};

    SCIQuery(SCI_Q_ADAPTER, &query, flags, error);
}

const char *SCIGetErrorString(sci_error_t error)
{
    static const struct {
        sci_error_t code;
        const char *text;
    } texts[] = {
        {SCI_ERR_OK, "no error"},
        {SCI_ERR_BUSY, "the object is in use"},
        {SCI_ERR_FLAG_NOT_IMPLEMENTED, "flag not implemented"},
        {SCI_ERR_ILLEGAL_FLAG, "illegal flag"},
        {SCI_ERR_NOSPC, "no space"},
        {SCI_ERR_NO_SUCH_ADAPTERNO, "no such adapter"},
        {SCI_ERR_TIMEOUT, "timeout"},
        {SCI_ERR_OUT_OF_RANGE, "out of range"},
        {SCI_ERR_NO_SUCH_SEGMENT, "no such segment or interrupt"},
        {SCI_ERR_ILLEGAL_NODEID, "illegal node id"},
        {SCI_ERR_CONNECTION_REFUSED, "connection refused"},
        {SCI_ERR_SEGMENT_NOT_CONNECTED, "segment not connected"},
        {SCI_ERR_SIZE_ALIGNMENT, "illegal alignment of the size"},
        {SCI_ERR_OFFSET_ALIGNMENT, "illegal alignment of the offset"},
        {SCI_ERR_ILLEGAL_PARAMETER, "illegal parameter"},
        {SCI_ERR_MAX_ENTRIES, "the DMA queue is full"},
        {SCI_ERR_SEGMENT_NOT_PREPARED, "segment not prepared"},
        {SCI_ERR_ILLEGAL_OPERATION, "illegal operation"},
        {SCI_ERR_ILLEGAL_QUERY, "illegal query"},
        {SCI_ERR_SEGMENTID_USED, "the segment id is used"},
        {SCI_ERR_CANCELLED, "cancelled"},
        {SCI_ERR_NOT_CONNECTED, "not connected"},
        {SCI_ERR_NOT_INITIALIZED, "SCIInitialize was not called"},
        {SCI_ERR_NO_REMOTE_LINK_ACCESS, "the remote link does not work"},
        {SCI_ERR_NO_LINK_ACCESS, "the link does not work"},
        {SCI_ERR_TRANSFER_FAILED, "transfer failed"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (texts[i].code == error)
            return texts[i].text;
    return "another error of SISCI";
}
