/*
 * Tables of instructions. A row is an instruction whose bits under the mask are
 * these; its operands are letters, each of which says from which bits it is
 * taken, and all else is printed as it stands. Read disasm, at the end, first.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "disasm.h"

struct row {
	uint32_t bits, mask;
	const char *name, *operands;
};

/* Masks: opcode; with funct3; with funct7, or the upper six bits of a shift. */
#define OP  0x7f
#define F3  0x707f
#define F7  0xfe00707f
#define F6  0xfc00707f
#define RM  0xfe00007f /* the rounding mode may be any */
#define CVT 0xfff0007f /* so is it here, and rs2 says what is converted */
#define AMO 0xf800707f /* aq and rl may be any */
#define ALL 0xffffffff

/* A row of each width of an atomic operation. */
#define ATOMIC(funct5, name, operands)                                 \
	{(funct5) << 27 | 0x202f, AMO, name ".w", operands},           \
	{                                                              \
		(unsigned int)(funct5) << 27 | 0x302f, AMO, name ".d", \
		    operands                                           \
	}
/* And of each precision of a floating-point operation. */
#define FLOAT(bits, mask, name, operands)                    \
	{bits, mask, name ".s", operands},                   \
	{                                                    \
		(bits) | 1u << 25, mask, name ".d", operands \
	}

/* clang-format off */
static const struct row rows[] = {
    {0x37, OP, "lui", "d,u"},          {0x17, OP, "auipc", "d,u"},
    {0x6f, OP, "jal", "d,J"},          {0x67, F3, "jalr", "d,i(s)"},
    {0x0063, F3, "beq", "s,t,B"},      {0x1063, F3, "bne", "s,t,B"},
    {0x4063, F3, "blt", "s,t,B"},      {0x5063, F3, "bge", "s,t,B"},
    {0x6063, F3, "bltu", "s,t,B"},     {0x7063, F3, "bgeu", "s,t,B"},
    {0x0003, F3, "lb", "d,i(s)"},      {0x1003, F3, "lh", "d,i(s)"},
    {0x2003, F3, "lw", "d,i(s)"},      {0x3003, F3, "ld", "d,i(s)"},
    {0x4003, F3, "lbu", "d,i(s)"},     {0x5003, F3, "lhu", "d,i(s)"},
    {0x6003, F3, "lwu", "d,i(s)"},
    {0x0023, F3, "sb", "t,q(s)"},      {0x1023, F3, "sh", "t,q(s)"},
    {0x2023, F3, "sw", "t,q(s)"},      {0x3023, F3, "sd", "t,q(s)"},
    {0x0013, F3, "addi", "d,s,i"},     {0x2013, F3, "slti", "d,s,i"},
    {0x3013, F3, "sltiu", "d,s,i"},    {0x4013, F3, "xori", "d,s,i"},
    {0x6013, F3, "ori", "d,s,i"},      {0x7013, F3, "andi", "d,s,i"},
    {0x1013, F6, "slli", "d,s,h"},     {0x5013, F6, "srli", "d,s,h"},
    {0x40005013, F6, "srai", "d,s,h"},
    {0x001b, F3, "addiw", "d,s,i"},    {0x101b, F7, "slliw", "d,s,h"},
    {0x501b, F7, "srliw", "d,s,h"},    {0x4000501b, F7, "sraiw", "d,s,h"},
    {0x0033, F7, "add", "d,s,t"},      {0x40000033, F7, "sub", "d,s,t"},
    {0x1033, F7, "sll", "d,s,t"},      {0x2033, F7, "slt", "d,s,t"},
    {0x3033, F7, "sltu", "d,s,t"},     {0x4033, F7, "xor", "d,s,t"},
    {0x5033, F7, "srl", "d,s,t"},      {0x40005033, F7, "sra", "d,s,t"},
    {0x6033, F7, "or", "d,s,t"},       {0x7033, F7, "and", "d,s,t"},
    {0x003b, F7, "addw", "d,s,t"},     {0x4000003b, F7, "subw", "d,s,t"},
    {0x103b, F7, "sllw", "d,s,t"},     {0x503b, F7, "srlw", "d,s,t"},
    {0x4000503b, F7, "sraw", "d,s,t"},
    {0x02000033, F7, "mul", "d,s,t"},  {0x02001033, F7, "mulh", "d,s,t"},
    {0x02002033, F7, "mulhsu", "d,s,t"},
    {0x02003033, F7, "mulhu", "d,s,t"},
    {0x02004033, F7, "div", "d,s,t"},  {0x02005033, F7, "divu", "d,s,t"},
    {0x02006033, F7, "rem", "d,s,t"},  {0x02007033, F7, "remu", "d,s,t"},
    {0x0200003b, F7, "mulw", "d,s,t"}, {0x0200403b, F7, "divw", "d,s,t"},
    {0x0200503b, F7, "divuw", "d,s,t"},
    {0x0200603b, F7, "remw", "d,s,t"}, {0x0200703b, F7, "remuw", "d,s,t"},
    {0x8330000f, ALL, "fence.tso", ""},
    {0x000f, 0xf00fffff, "fence", "P,Q"},      {0x100f, ALL, "fence.i", ""},
    {0x00000073, ALL, "ecall", ""},    {0x00100073, ALL, "ebreak", ""},
    {0x10200073, ALL, "sret", ""},     {0x30200073, ALL, "mret", ""},
    {0x10500073, ALL, "wfi", ""},
    {0x12000073, 0xfe007fff, "sfence.vma", "s,t"},
    {0x1073, F3, "csrrw", "d,C,s"},    {0x2073, F3, "csrrs", "d,C,s"},
    {0x3073, F3, "csrrc", "d,C,s"},    {0x5073, F3, "csrrwi", "d,C,z"},
    {0x6073, F3, "csrrsi", "d,C,z"},   {0x7073, F3, "csrrci", "d,C,z"},
    {0x1000202f, 0xf9f0707f, "lr.w", "d,(s)"},
    {0x1000302f, 0xf9f0707f, "lr.d", "d,(s)"},
    ATOMIC(0x03u, "sc", "d,t,(s)"),      ATOMIC(0x01u, "amoswap", "d,t,(s)"),
    ATOMIC(0x00u, "amoadd", "d,t,(s)"),  ATOMIC(0x04u, "amoxor", "d,t,(s)"),
    ATOMIC(0x0cu, "amoand", "d,t,(s)"),  ATOMIC(0x08u, "amoor", "d,t,(s)"),
    ATOMIC(0x10u, "amomin", "d,t,(s)"),  ATOMIC(0x14u, "amomax", "d,t,(s)"),
    ATOMIC(0x18u, "amominu", "d,t,(s)"), ATOMIC(0x1cu, "amomaxu", "d,t,(s)"),
    {0x2007, F3, "flw", "D,i(s)"},     {0x3007, F3, "fld", "D,i(s)"},
    {0x2027, F3, "fsw", "T,q(s)"},     {0x3027, F3, "fsd", "T,q(s)"},
    FLOAT(0x43, 0x0600007f, "fmadd", "D,S,T,R,m"),
    FLOAT(0x47, 0x0600007f, "fmsub", "D,S,T,R,m"),
    FLOAT(0x4b, 0x0600007f, "fnmsub", "D,S,T,R,m"),
    FLOAT(0x4f, 0x0600007f, "fnmadd", "D,S,T,R,m"),
    FLOAT(0x00000053, RM, "fadd", "D,S,T,m"),
    FLOAT(0x08000053, RM, "fsub", "D,S,T,m"),
    FLOAT(0x10000053, RM, "fmul", "D,S,T,m"),
    FLOAT(0x18000053, RM, "fdiv", "D,S,T,m"),
    FLOAT(0x58000053, CVT, "fsqrt", "D,S,m"),
    FLOAT(0x20000053, F7, "fsgnj", "D,S,T"),
    FLOAT(0x20001053, F7, "fsgnjn", "D,S,T"),
    FLOAT(0x20002053, F7, "fsgnjx", "D,S,T"),
    FLOAT(0x28000053, F7, "fmin", "D,S,T"),
    FLOAT(0x28001053, F7, "fmax", "D,S,T"),
    FLOAT(0xa0000053, F7, "fle", "d,S,T"),
    FLOAT(0xa0001053, F7, "flt", "d,S,T"),
    FLOAT(0xa0002053, F7, "feq", "d,S,T"),
    FLOAT(0xe0001053, 0xfff0707f, "fclass", "d,S"),
    {0x40100053, CVT, "fcvt.s.d", "D,S,m"},
    {0x42000053, 0xfff0707f, "fcvt.d.s", "D,S"},
    FLOAT(0xc0000053, CVT, "fcvt.w", "d,S,m"),
    FLOAT(0xc0100053, CVT, "fcvt.wu", "d,S,m"),
    FLOAT(0xc0200053, CVT, "fcvt.l", "d,S,m"),
    FLOAT(0xc0300053, CVT, "fcvt.lu", "d,S,m"),
    {0xd0000053, CVT, "fcvt.s.w", "D,s,m"},
    {0xd0100053, CVT, "fcvt.s.wu", "D,s,m"},
    {0xd0200053, CVT, "fcvt.s.l", "D,s,m"},
    {0xd0300053, CVT, "fcvt.s.lu", "D,s,m"},
    {0xd2000053, 0xfff0707f, "fcvt.d.w", "D,s"},
    {0xd2100053, 0xfff0707f, "fcvt.d.wu", "D,s"},
    {0xd2200053, CVT, "fcvt.d.l", "D,s,m"},
    {0xd2300053, CVT, "fcvt.d.lu", "D,s,m"},
    {0xe0000053, 0xfff0707f, "fmv.x.w", "d,S"},
    {0xe2000053, 0xfff0707f, "fmv.x.d", "d,S"},
    {0xf0000053, 0xfff0707f, "fmv.w.x", "D,s"},
    {0xf2000053, 0xfff0707f, "fmv.d.x", "D,s"},
    {0}};

/* Of two bytes. A register of eight is at bits 2 or 7: x or y. One of all 32 is
 * at 7 or 2: d or v. */
static const struct row short_rows[] = {
    {0x0000, 0xffff, "c.unimp", ""},
    {0x0000, 0xe003, "c.addi4spn", "x,sp,4"},
    {0x2000, 0xe003, "c.fld", "X,8(y)"},  {0x4000, 0xe003, "c.lw", "x,w(y)"},
    {0x6000, 0xe003, "c.ld", "x,8(y)"},   {0xa000, 0xe003, "c.fsd", "X,8(y)"},
    {0xc000, 0xe003, "c.sw", "x,w(y)"},   {0xe000, 0xe003, "c.sd", "x,8(y)"},
    {0x0001, 0xffff, "c.nop", ""},
    {0x0001, 0xe003, "c.addi", "d,I"},    {0x2001, 0xe003, "c.addiw", "d,I"},
    {0x4001, 0xe003, "c.li", "d,I"},
    {0x6101, 0xef83, "c.addi16sp", "sp,6"},
    {0x6001, 0xe003, "c.lui", "d,U"},
    {0x8001, 0xec03, "c.srli", "y,H"},    {0x8401, 0xec03, "c.srai", "y,H"},
    {0x8801, 0xec03, "c.andi", "y,I"},
    {0x8c01, 0xfc63, "c.sub", "y,x"},     {0x8c21, 0xfc63, "c.xor", "y,x"},
    {0x8c41, 0xfc63, "c.or", "y,x"},      {0x8c61, 0xfc63, "c.and", "y,x"},
    {0x9c01, 0xfc63, "c.subw", "y,x"},    {0x9c21, 0xfc63, "c.addw", "y,x"},
    {0xa001, 0xe003, "c.j", "j"},
    {0xc001, 0xe003, "c.beqz", "y,b"},    {0xe001, 0xe003, "c.bnez", "y,b"},
    {0x0002, 0xe003, "c.slli", "d,H"},
    {0x2002, 0xe003, "c.fldsp", "D,l(sp)"},
    {0x4002, 0xe003, "c.lwsp", "d,k(sp)"},
    {0x6002, 0xe003, "c.ldsp", "d,l(sp)"},
    {0x9002, 0xffff, "c.ebreak", ""},
    {0x8002, 0xf07f, "c.jr", "d"},        {0x8002, 0xf003, "c.mv", "d,v"},
    {0x9002, 0xf07f, "c.jalr", "d"},      {0x9002, 0xf003, "c.add", "d,v"},
    {0xa002, 0xe003, "c.fsdsp", "V,g(sp)"},
    {0xc002, 0xe003, "c.swsp", "v,e(sp)"},
    {0xe002, 0xe003, "c.sdsp", "v,g(sp)"},
    {0}};
/* clang-format on */

static const char *const registers[] = {
    "zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
    "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
    "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};
static const char *const float_registers[] = {
    "ft0", "ft1", "ft2",  "ft3",  "ft4", "ft5", "ft6",  "ft7",
    "fs0", "fs1", "fa0",  "fa1",  "fa2", "fa3", "fa4",  "fa5",
    "fa6", "fa7", "fs2",  "fs3",  "fs4", "fs5", "fs6",  "fs7",
    "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
};
static const char *const roundings[] = {"rne", "rtz", "rdn", "rup",
					"rmm", "5",   "6",   "dyn"};

static const struct {
	unsigned int number;
	const char *name;
} csrs[] = {
    {0x001, "fflags"},     {0x002, "frm"},      {0x003, "fcsr"},
    {0x100, "sstatus"},    {0x104, "sie"},      {0x105, "stvec"},
    {0x106, "scounteren"}, {0x140, "sscratch"}, {0x141, "sepc"},
    {0x142, "scause"},     {0x143, "stval"},    {0x144, "sip"},
    {0x14d, "stimecmp"},   {0x180, "satp"},     {0xc00, "cycle"},
    {0xc01, "time"},       {0xc02, "instret"},
};

/* n bits of the instruction, from bit `from` on. */
static uint32_t
bits(uint32_t code, int from, int n)
{
	return code >> from & ((1u << n) - 1);
}

/* The number of so many bits, with a sign. */
static int64_t
sign(uint64_t number, int n)
{
	return (int64_t)(number << (64 - n)) >> (64 - n);
}

/* The offsets of jumps and branches, whose bits are spread. */
static int64_t
offset(char operand, uint32_t c)
{
	switch (operand) {
	case 'J':
		return sign(bits(c, 31, 1) << 20 | bits(c, 12, 8) << 12 |
				bits(c, 20, 1) << 11 | bits(c, 21, 10) << 1,
			    21);
	case 'B':
		return sign(bits(c, 31, 1) << 12 | bits(c, 7, 1) << 11 |
				bits(c, 25, 6) << 5 | bits(c, 8, 4) << 1,
			    13);
	case 'j':
		return sign(bits(c, 12, 1) << 11 | bits(c, 8, 1) << 10 |
				bits(c, 9, 2) << 8 | bits(c, 6, 1) << 7 |
				bits(c, 7, 1) << 6 | bits(c, 2, 1) << 5 |
				bits(c, 11, 1) << 4 | bits(c, 3, 3) << 1,
			    12);
	default: /* b */
		return sign(bits(c, 12, 1) << 8 | bits(c, 5, 2) << 6 |
				bits(c, 2, 1) << 5 | bits(c, 10, 2) << 3 |
				bits(c, 3, 2) << 1,
			    9);
	}
}

/* A number that is printed with its sign. */
static bool
decimal(char operand, uint32_t c, int64_t *number)
{
	switch (operand) {
	case 'i':
		*number = sign(bits(c, 20, 12), 12);
		return true;
	case 'q':
		*number = sign(bits(c, 25, 7) << 5 | bits(c, 7, 5), 12);
		return true;
	case 'z':
		*number = bits(c, 15, 5);
		return true;
	case 'I':
		*number = sign(bits(c, 12, 1) << 5 | bits(c, 2, 5), 6);
		return true;
	case '4':
		*number = bits(c, 7, 4) << 6 | bits(c, 11, 2) << 4 |
			  bits(c, 5, 1) << 3 | bits(c, 6, 1) << 2;
		return true;
	case '6':
		*number = sign(bits(c, 12, 1) << 9 | bits(c, 3, 2) << 7 |
				   bits(c, 5, 1) << 6 | bits(c, 2, 1) << 5 |
				   bits(c, 6, 1) << 4,
			       10);
		return true;
	case 'w':
		*number = bits(c, 5, 1) << 6 | bits(c, 10, 3) << 3 |
			  bits(c, 6, 1) << 2;
		return true;
	case '8':
		*number = bits(c, 5, 2) << 6 | bits(c, 10, 3) << 3;
		return true;
	case 'k':
		*number = bits(c, 2, 2) << 6 | bits(c, 12, 1) << 5 |
			  bits(c, 4, 3) << 2;
		return true;
	case 'l':
		*number = bits(c, 2, 3) << 6 | bits(c, 12, 1) << 5 |
			  bits(c, 5, 2) << 3;
		return true;
	case 'e':
		*number = bits(c, 7, 2) << 6 | bits(c, 9, 4) << 2;
		return true;
	case 'g':
		*number = bits(c, 7, 3) << 6 | bits(c, 10, 3) << 3;
		return true;
	}
	return false;
}

/* The register, or rounding mode, that an operand is; or NULL. */
static const char *
name_of(char operand, uint32_t c)
{
	switch (operand) {
	case 'd':
		return registers[bits(c, 7, 5)];
	case 's':
		return registers[bits(c, 15, 5)];
	case 't':
		return registers[bits(c, 20, 5)];
	case 'v':
		return registers[bits(c, 2, 5)];
	case 'x':
		return registers[8 + bits(c, 2, 3)];
	case 'y':
		return registers[8 + bits(c, 7, 3)];
	case 'D':
		return float_registers[bits(c, 7, 5)];
	case 'S':
		return float_registers[bits(c, 15, 5)];
	case 'T':
		return float_registers[bits(c, 20, 5)];
	case 'R':
		return float_registers[bits(c, 27, 5)];
	case 'V':
		return float_registers[bits(c, 2, 5)];
	case 'X':
		return float_registers[8 + bits(c, 2, 3)];
	case 'm':
		return roundings[bits(c, 12, 3)];
	}
	return NULL;
}

static int
print_csr(char *text, size_t room, unsigned int number)
{
	for (size_t i = 0; i < sizeof(csrs) / sizeof(csrs[0]); i++)
		if (csrs[i].number == number)
			return snprintf(text, room, "%s", csrs[i].name);
	return snprintf(text, room, "%#x", number);
}

/* What a fence orders: input, output, reads, writes. */
static int
print_fence(char *text, size_t room, unsigned int set)
{
	return snprintf(text, room, "%s%s%s%s", set & 8 ? "i" : "",
			set & 4 ? "o" : "", set & 2 ? "r" : "",
			set & 1 ? "w" : "");
}

static int
print_operand(struct disasm *d, uint64_t pc, char operand, uint32_t c,
	      size_t used)
{
	char *text = d->text + used;
	size_t room = sizeof(d->text) - used;
	const char *name = name_of(operand, c);
	int64_t number;

	if (name != NULL)
		return snprintf(text, room, "%s", name);
	if (decimal(operand, c, &number))
		return snprintf(text, room, "%lld", (long long)number);
	switch (operand) {
	case 'u':
		return snprintf(text, room, "0x%x", bits(c, 12, 20));
	case 'U':
		number = sign(bits(c, 12, 1) << 5 | bits(c, 2, 5), 6);
		return snprintf(text, room, "%#x", (int)number & 0xfffff);
	case 'h':
		return snprintf(text, room, "0x%x", bits(c, 20, 6));
	case 'H':
		return snprintf(text, room, "%#x",
				bits(c, 12, 1) << 5 | bits(c, 2, 5));
	case 'J':
	case 'B':
	case 'j':
	case 'b':
		d->target = pc + offset(operand, c);
		return snprintf(text, room, "%llx",
				(unsigned long long)d->target);
	case 'C':
		return print_csr(text, room, bits(c, 20, 12));
	case 'P':
		return print_fence(text, room, bits(c, 24, 4));
	case 'Q':
		return print_fence(text, room, bits(c, 20, 4));
	default: /* punctuation, sp */
		return snprintf(text, room, "%c", operand);
	}
}

static void
print(struct disasm *d, uint64_t pc, const struct row *r, uint32_t c)
{
	const char *order = "";
	size_t n;

	if ((r->mask == AMO || r->mask == 0xf9f0707f) && d->size == 4)
		order = (const char *[]){"", ".rl", ".aq",
					 ".aqrl"}[bits(c, 25, 2)];
	n = snprintf(d->text, sizeof(d->text), "%s%s%s", r->name, order,
		     *r->operands ? " " : "");
	for (const char *o = r->operands; *o != '\0'; o++) {
		/* The usual rounding mode is left out, with its comma. */
		if (strcmp(o, ",m") == 0 && bits(c, 12, 3) == 7)
			return;
		if (strncmp(o, "sp", 2) == 0) {
			n += snprintf(d->text + n, sizeof(d->text) - n, "sp");
			o++;
			continue;
		}
		n += print_operand(d, pc, *o, c, n);
	}
}

void
disasm(struct disasm *d, uint64_t pc, const void *code, size_t left)
{
	const unsigned char *b = code;
	uint32_t c = left >= 2 ? b[0] | b[1] << 8 : 0;
	const struct row *r = short_rows;

	d->size = 2;
	d->target = 0;
	d->text[0] = '\0';
	if (left >= 4 && (c & 3) == 3) {
		c |= (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
		d->size = 4;
		r = rows;
	}
	while (r->name != NULL && (c & r->mask) != r->bits)
		r++;
	if (r->name != NULL && left >= 2)
		print(d, pc, r, c);
	else
		snprintf(d->text, sizeof(d->text), ".%s %#x",
			 d->size == 4 ? "word" : "half", c);
}
