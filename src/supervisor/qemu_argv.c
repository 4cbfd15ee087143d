/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu_argv.c - the machine, as arguments
 *
 * q35 without what nobody uses: no network card, no graphics, no USB, no SATA,
 * no SMBus, no VMware port. No balloon and nothing else that could discard
 * guest memory: it would punch holes into a RAM file that others share.
 */
#include "supervisor/qemu.h"

#include "base/mem.h"
#include "base/own.h"
#include "proto/bulk.h"
#include "proto/rings.h"
#include "proto/slots.h"

struct args {
	char **list;
	size_t count, room;
};

static void add(struct args *args, char *text)
{
	if (args->count + 1 >= args->room) {
		args->room = args->room ? 2 * args->room : 64;
		args->list = xrealloc(args->list,
				      args->room * sizeof(args->list[0]));
	}
	args->list[args->count++] = text;
	args->list[args->count] = NULL;
}

static void flag(struct args *args, const char *name)
{
	add(args, xstrdup(name));
}

/* xasprintf() has no va_list form, hence a macro. */
#define option(args, name, ...)                    \
	do {                                       \
		flag(args, name);                  \
		add(args, xasprintf(__VA_ARGS__)); \
	} while (0)

static void add_machine(struct args *args, const struct start_spec *spec)
{
	option(args, "-name", "%s", spec->name);
	option(args, "-M",
	       "%s,vmport=off,smbus=off,sata=off,usb=off,memory-backend=ram,"
	       "mem-merge=off,dump-guest-core=off,suppress-vmdesc=on",
	       spec->machine);
	if (spec->accel == START_ACCEL_KVM)
		option(args, "-accel", "kvm");
	else
		option(args, "-accel", "tcg,thread=multi,tb-size=256");
	option(args, "-cpu", "%s", spec->cpu);
	option(args, "-smp", "%u", spec->cpus);
	option(args, "-m", "%uM", spec->memory_mib);
	flag(args, "-nodefaults");
	flag(args, "-no-user-config");
	option(args, "-display", "none");
	/* A reset would run firmware whose RAM no snapshot holds. */
	flag(args, "-no-reboot");
	option(args, "-sandbox",
	       "on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
	       "resourcecontrol=deny");
	/* Boots an unpacked kernel by PVH, sooner than SeaBIOS does. */
	option(args, "-bios", "qboot.rom");
}

static void add_memory(struct args *args, const struct start_spec *spec)
{
	/*
	 * The preload library answers the open of this path with the
	 * descriptor. share=off is a private mapping: what the guest writes
	 * stays its own, and ram_image.c tells it from the file's pages. A
	 * cold start has an empty file.
	 */
	option(args, "-object",
	       "memory-backend-file,id=ram,size=%uM,mem-path=/bawn/ram,"
	       "share=%s,merge=off,dump=off",
	       spec->memory_mib, spec->goal == START_MAKE_WARM ? "on" : "off");
}

/* No part of a state: who restores one gets new memory. */
static void add_shared(struct args *args, const char *name, unsigned size,
		       const char *read_only, unsigned device)
{
	option(args, "-object",
	       "memory-backend-file,id=%s,size=%u,mem-path=/bawn/%s,"
	       "share=on,readonly=%s,merge=off,dump=off",
	       name, size, name, read_only);
	option(args, "-device", "ivshmem-plain,memdev=%s,master=on,addr=%02x.0",
	       name, device);
}

static void add_channels(struct args *args)
{
	option(args, "-chardev", "socket,id=monitor,fd=%d", QEMU_FD_MONITOR);
	option(args, "-mon", "chardev=monitor,mode=control");
	option(args, "-chardev", "socket,id=console,fd=%d", QEMU_FD_CONSOLE);
	option(args, "-device", "isa-serial,chardev=console");
	option(args, "-chardev", "socket,id=control,fd=%d", QEMU_FD_CONTROL);
	option(args, "-device",
	       "virtio-serial-pci,id=ports,max_ports=8,addr=03.0");
	option(args, "-device",
	       "virtserialport,bus=ports.0,nr=1,chardev=control,"
	       "name=bawn.control");
	/* Always there, so that one warm image fits sandboxes with shares and
	 * without, and a folder can be added later. */
	option(args, "-chardev", "socket,id=files,fd=%d", QEMU_FD_FILES);
	option(args, "-device",
	       "virtserialport,bus=ports.0,nr=2,chardev=files,"
	       "name=bawn.files");
	option(args, "-chardev", "socket,id=gate,fd=%d", QEMU_FD_NET);
	option(args, "-device",
	       "virtserialport,bus=ports.0,nr=3,chardev=gate,name=bawn.net");
	add_shared(args, "slots", SLOTS_BYTES, "on", SLOTS_DEVICE);
	add_shared(args, "to-guest", BULK_BYTES, "on", BULK_TO_GUEST_DEVICE);
	add_shared(args, "from-guest", BULK_BYTES, "off",
		   BULK_FROM_GUEST_DEVICE);
	/* Its memory comes by the talk, and so does whom it wakes. */
	option(args, "-chardev", "socket,id=bell,fd=%d", QEMU_FD_BELL);
	option(args, "-device",
	       "ivshmem-doorbell,chardev=bell,vectors=1,master=on,addr=%02x.0",
	       RINGS_DEVICE);
	option(args, "-device", "virtio-rng-pci,addr=04.0");
}

/* The lowest layer first: each one names the node below it. */
static void add_disks(struct args *args, const struct start_spec *spec)
{
	for (unsigned i = spec->disk_count; i-- > 0;) {
		bool top = i == 0, bottom = i + 1 == spec->disk_count;
		const char *read_only = top ? "off" : "on";
		AUTO_FREE char *backing = NULL;

		if (!bottom)
			backing = xasprintf(",backing=disk%u", i + 1);
		option(args, "-add-fd", "fd=%u,set=%u", QEMU_FD_DISK + i,
		       i + 1);
		/* `alive` is the lock; these files have readers only. */
		option(args, "-blockdev",
		       "driver=file,node-name=file%u,filename=/dev/fdset/%u,"
		       "read-only=%s,auto-read-only=off,locking=off,"
		       "discard=unmap",
		       i, i + 1, read_only);
		option(args, "-blockdev",
		       "driver=%s,node-name=disk%u,file=file%u,read-only=%s,"
		       "auto-read-only=off,discard=unmap%s",
		       bottom ? "raw" : "qcow2", i, i, read_only,
		       backing ? backing : "");
	}
	/* A full host disk stops the machine; other errors are the guest's. */
	option(args, "-device",
	       "virtio-blk-pci,drive=disk0,addr=05.0,discard=on,"
	       "werror=enospc,rerror=report");
}

/*
 * Found by its serial number. A full host disk is the writer's failure: it
 * says so and ends.
 */
static void add_spool(struct args *args)
{
	unsigned set = START_DISKS_MAX + 1;

	option(args, "-add-fd", "fd=%d,set=%u", QEMU_FD_SPOOL, set);
	option(args, "-blockdev",
	       "driver=file,node-name=spool-file,filename=/dev/fdset/%u,"
	       "auto-read-only=off,locking=off",
	       set);
	option(args, "-blockdev",
	       "driver=raw,node-name=spool,file=spool-file,"
	       "auto-read-only=off");
	option(args, "-device",
	       "virtio-blk-pci,drive=spool,addr=07.0,serial=bawn.spool,"
	       "werror=report,rerror=report");
}

char **qemu_argv(const struct start_spec *spec)
{
	struct args args = { 0 };

	flag(&args, "qemu-system-x86_64");
	add_machine(&args, spec);
	add_memory(&args, spec);
	add_channels(&args);
	add_disks(&args, spec);
	if (spec->spool)
		add_spool(&args);
	if (spec->goal == START_RESTORE) {
		/* A device state alone says neither what machine it is of nor
		 * that it was stopped (start.c). */
		option(&args, "-global", "migration.send-configuration=off");
		flag(&args, "-S");
		option(&args, "-incoming", "defer");
	} else {
		option(&args, "-kernel", "/bawn/kernel");
		option(&args, "-initrd", "/bawn/initrd");
		option(&args, "-append", "%s", spec->append);
	}
	return args.list;
}

void qemu_argv_free(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}
