/* SPDX-License-Identifier: Apache-2.0 */
/*
 * talk.c - bawn-image asks its starter, which has the store
 */
#include "image/talk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "ipc/packet.h"
#include "oci/image.h"

AUTO_DEFINE(json, json_t *, json_decref)

static int wait_for(short events, struct error *err)
{
	struct pollfd wait = { .fd = TALK_FD, .events = events };
	int n;

	do
		n = poll(&wait, 1, -1);
	while (n < 0 && errno == EINTR);
	return n < 0 ? error_set(err, errno, "poll") : 0;
}

/* Takes the reference of json. */
static int say(json_t *json, struct error *err)
{
	AUTO(json) json_t *kept = json;
	struct error own = { 0 };

	while (packet_send(TALK_FD, json_incref(kept), NULL, 0, &own) < 0) {
		if (own.code != EAGAIN) {
			*err = own;
			return error_prefix(err, "the starter");
		}
		if (wait_for(POLLOUT, err) < 0)
			return -1;
	}
	return 0;
}

static int hear(struct packet *packet, struct error *err)
{
	int n;

	while ((n = packet_receive(TALK_FD, packet, err)) == 0)
		if (wait_for(POLLIN, err) < 0)
			return -1;
	return n < 0 ? error_prefix(err, "the starter") : 0;
}

static int write_image(const struct image *image, const json_t *facts,
		       struct error *err)
{
	AUTO(json) json_t *json = image_to_json(image);
	AUTO_FREE char *text = NULL;

	if (json && facts)
		json_object_update(json, (json_t *)facts);
	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	if (!text || strlen(text) > IMAGE_JSON_MAX)
		return error_set(err, 0,
				 "the image's description is too large");
	if (ftruncate(TALK_IMAGE_FD, 0) < 0)
		return error_set(err, errno, "the image's description");
	return fileio_pwrite_all(TALK_IMAGE_FD, text, strlen(text), 0, err);
}

int talk_image(const struct image *image, const json_t *facts,
	       struct error *err)
{
	struct packet packet;
	int go;

	if (write_image(image, facts, err) < 0 ||
	    say(json_pack("{s:s}", "op", "image"), err) < 0 ||
	    hear(&packet, err) < 0)
		return -1;
	go = strcmp(packet_op(&packet), "go") == 0;
	packet_release(&packet);
	return go;
}

/* Takes the reference of json. */
static int ask_for(json_t *json, int *fd, struct error *err)
{
	struct packet packet;

	*fd = -1;
	if (say(json, err) < 0 || hear(&packet, err) < 0)
		return -1;
	if (strcmp(packet_op(&packet), "take") == 0)
		*fd = packet_take_fd(&packet, 0);
	packet_release(&packet);
	return *fd >= 0;
}

int talk_blob(const struct image_descriptor *descriptor, int *fd,
	      struct error *err)
{
	return ask_for(json_pack("{s:s, s:s, s:I}", "op", "blob", "digest",
				 descriptor->digest, "size",
				 (json_int_t)descriptor->size),
		       fd, err);
}

int talk_open(const char *name, int *fd, struct error *err)
{
	return ask_for(json_pack("{s:s, s:s}", "op", "open", "name", name), fd,
		       err);
}

int talk_done(const char *digest, struct error *err)
{
	return say(json_pack("{s:s, s:s}", "op", "done", "digest", digest),
		   err);
}

void talk_progress(json_t *parts)
{
	(void)packet_send(
		TALK_FD,
		json_pack("{s:s, s:o}", "op", "progress", "parts", parts), NULL,
		0, NULL);
}

void talk_failed(const char *verdict)
{
	struct error unheard;

	(void)say(json_pack("{s:s, s:s}", "op", "failed", "verdict", verdict),
		  &unheard);
}
