/*
 * The part of QEMU's plugin interface that is used here: API version 1
 * (QEMU 7.2), or with API=2 version 2 (QEMU 9.0 and later). QEMU's own header
 * isn't packaged everywhere.
 */
#ifndef API
#define API 1
#endif

#ifndef QEMU_H
#define QEMU_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void tb_translated(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void executed(unsigned int vcpu, void *udata);
typedef void accessed(unsigned int vcpu, uint32_t info, uint64_t address,
		      void *udata);

enum { NO_REGISTERS, READS_REGISTERS };
enum { ACCESSES = 3 }; /* loads and stores; a callback for loads gets none */

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, tb_translated *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed *,
					  int registers, void *udata);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *,
					    executed *, int registers,
					    void *udata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, accessed *,
				      int registers, int accesses, void *udata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t,
				    void (*)(qemu_plugin_id_t, void *),
				    void *udata);
_Bool qemu_plugin_mem_is_store(uint32_t info);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *,
						 size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
/* The instruction's place in QEMU's own memory; NULL: it has none. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
#if API == 1
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);

/* The part of GLib's arrays that is used here. */
typedef struct {
	uint8_t *data;
	unsigned int len;
} GByteArray;
typedef struct {
	char *data;
	unsigned int len;
} GArray;
struct qemu_plugin_register;
struct register_descriptor {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
};
GArray *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct qemu_plugin_register *, GByteArray *);
GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *, unsigned int);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t,
				       void (*)(qemu_plugin_id_t,
						unsigned int));
#endif

#endif
