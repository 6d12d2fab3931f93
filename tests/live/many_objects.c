/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* As many objects in one process as the tests of libfabric's own gni provider and Chapel open:
 * prints what could not be made. */
#include <gni_pub.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CDMS_MAX 121
#define DOMAINS_MAX 7919
#define ENDPOINTS_MAX 61

static bool report(const char *what, int made, int wanted, int result)
{
    if (made == wanted && result == 0)
        return true;
    printf("%d of %d %s: %d\n", made, wanted, what, result);
    return false;
}

static bool cdms(uint8_t ptag, uint32_t cookie, int wanted, int queues)
{
    static gni_cdm_handle_t cdm[CDMS_MAX];
    gni_nic_handle_t nic;
    gni_cq_handle_t queue;
    uint32_t address;
    int made, i, rc = 0;

    for (made = 0; made < wanted && rc == 0; made++) {
        rc = (int)GNI_CdmCreate(1000 + (uint32_t)made, ptag, cookie, GNI_CDM_MODE_FMA_SHARED,
                                &cdm[made]);
        if (rc == 0)
            rc = (int)GNI_CdmAttach(cdm[made], 0, &address, &nic);
        for (i = 0; i < queues && rc == 0; i++)
            rc = (int)GNI_CqCreate(nic, 2048, 0, i % 2 != 0 ? GNI_CQ_BLOCKING : GNI_CQ_NOBLOCK,
                                   NULL, NULL, &queue);
    }
    for (i = 0; i < made; i++)
        GNI_CdmDestroy(cdm[i]); /* and its queues */
    return report("communication domains", made, wanted, rc);
}

static bool domains(struct fid_fabric *fabric, struct fi_info *info, int wanted, bool endpoint)
{
    static struct fid_domain *domain[DOMAINS_MAX];
    static struct fid_ep *ep[DOMAINS_MAX];
    int made, closed = 0, rc = 0;

    for (made = 0; made < wanted; made++) {
        rc = fi_domain(fabric, info, &domain[made], NULL);
        if (rc == 0 && endpoint)
            rc = fi_endpoint(domain[made], info, &ep[made], NULL);
        if (rc != 0)
            break;
    }
    for (int i = made; i-- > 0;)
        closed += (!endpoint || fi_close(&ep[i]->fid) == 0) && fi_close(&domain[i]->fid) == 0;
    return report(endpoint ? "domains with endpoints" : "domains", closed, wanted, rc);
}

static bool endpoints(struct fid_fabric *fabric, struct fi_info *info, int wanted)
{
    static struct fid_ep *ep[ENDPOINTS_MAX];
    struct fid_domain *domain;
    int made, closed = 0, rc = fi_domain(fabric, info, &domain, NULL);

    if (rc != 0)
        return report("domains", 0, 1, rc);
    for (made = 0; made < wanted && (rc = fi_endpoint(domain, info, &ep[made], NULL)) == 0; made++)
        ;
    for (int i = 0; i < made; i++)
        rc = rc != 0 ? rc : fi_enable(ep[i]);
    for (int i = made; i-- > 0;)
        closed += fi_close(&ep[i]->fid) == 0;
    rc = rc != 0 ? rc : fi_close(&domain->fid);
    return report("endpoints", closed, wanted, rc);
}

int main(void)
{
    const char *ptag = getenv("PMI_GNI_PTAG"), *cookie = getenv("PMI_GNI_COOKIE");
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fid_fabric *fabric;
    bool good;
    int rc;

    if (ptag == NULL || cookie == NULL)
        return !report("credentials", 0, 1, 0);
    good = cdms((uint8_t)atoi(ptag), (uint32_t)strtoul(cookie, NULL, 10), 79, 4) &&
           cdms((uint8_t)atoi(ptag), (uint32_t)strtoul(cookie, NULL, 10), CDMS_MAX, 2);
    hints->fabric_attr->prov_name = strdup("gni");
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
    if (rc == 0)
        rc = fi_fabric(info->fabric_attr, &fabric, NULL);
    if (rc != 0)
        return !report("fabrics", 0, 1, rc);
    good = good && domains(fabric, info, DOMAINS_MAX, false) &&
           endpoints(fabric, info, ENDPOINTS_MAX) && domains(fabric, info, ENDPOINTS_MAX, true) &&
           report("fabrics", fi_close(&fabric->fid) == 0, 1, 0);
    fi_freeinfo(info);
    fi_freeinfo(hints);
    return !good;
}
