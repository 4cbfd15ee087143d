/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qcow2.c - an empty version 3 image, byte for byte
 *
 * Four clusters: header, refcount table, one refcount block, L1 table. The L1
 * table may need more than one cluster for a large disk; everything else is
 * fixed. All of it but the header and the refcounts is zeros, which the file
 * has anyway.
 */
#include "provision/qcow2.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"

enum {
	CLUSTER_BITS = 16,
	CLUSTER = 1 << CLUSTER_BITS,
	HEADER_BYTES = 104,
	REFCOUNT_ORDER = 4, /* 16 bits each */
	REFCOUNTS_IN_BLOCK = CLUSTER / 2,
	L1_OFFSET = 3 * CLUSTER,
};

/* 64 KiB of L2 entries, 64 KiB each: what one L1 entry covers. */
#define L1_ENTRY_COVERS ((uint64_t)CLUSTER / 8 * CLUSTER)
#define L1_CLUSTERS_MAX 64
#define VIRTUAL_BYTES_MAX (L1_CLUSTERS_MAX * (CLUSTER / 8) * L1_ENTRY_COVERS)

static void put_be(uint8_t *at, uint64_t value, unsigned bytes)
{
	while (bytes--) {
		at[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

static void fill_header(uint8_t *header, uint64_t virtual_bytes,
			uint32_t l1_entries)
{
	memcpy(header, "QFI\xfb", 4);
	put_be(header + 4, 3, 4);               /* version */
	put_be(header + 20, CLUSTER_BITS, 4);   /* backing file: none */
	put_be(header + 24, virtual_bytes, 8);  /* size; 32: no encryption */
	put_be(header + 36, l1_entries, 4);     /* l1_size */
	put_be(header + 40, L1_OFFSET, 8);      /* l1_table_offset */
	put_be(header + 48, CLUSTER, 8);        /* refcount_table_offset */
	put_be(header + 56, 1, 4);              /* refcount_table_clusters */
	put_be(header + 96, REFCOUNT_ORDER, 4); /* after no feature bits */
	put_be(header + 100, HEADER_BYTES, 4);
	/* zeros after it: no extensions */
}

int qcow2_create(int fd, uint64_t virtual_bytes, struct error *err)
{
	uint64_t entries =
		(virtual_bytes + L1_ENTRY_COVERS - 1) / L1_ENTRY_COVERS;
	uint64_t l1_clusters = (entries * 8 + CLUSTER - 1) / CLUSTER;
	uint8_t header[HEADER_BYTES + 8] = { 0 };
	uint8_t table[8] = { 0 };
	uint8_t counts[2 * (3 + L1_CLUSTERS_MAX)] = { 0 };
	struct stat st;

	if (virtual_bytes == 0 || virtual_bytes % 512 ||
	    virtual_bytes > VIRTUAL_BYTES_MAX)
		return error_set(err, EINVAL, "disk size");
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "disk");
	if (st.st_size != 0)
		return error_set(err, EEXIST, "disk");
	fill_header(header, virtual_bytes, (uint32_t)entries);
	put_be(table, 2 * CLUSTER, 8);
	for (unsigned i = 0; i < 3 + l1_clusters; i++)
		put_be(counts + (size_t)2 * i, 1, 2);
	if (fileio_pwrite_all(fd, header, sizeof(header), 0, err) < 0 ||
	    fileio_pwrite_all(fd, table, sizeof(table), CLUSTER, err) < 0 ||
	    fileio_pwrite_all(fd, counts, 2 * (3 + l1_clusters),
			      (off_t)2 * CLUSTER, err) < 0)
		return error_prefix(err, "disk");
	if (ftruncate(fd, (off_t)(L1_OFFSET + l1_clusters * CLUSTER)) < 0)
		return error_set(err, errno, "disk");
	return 0;
}
