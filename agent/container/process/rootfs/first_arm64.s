#include "go_asm.h"
#include "textflag.h"

// See first.go for what this is, and for the places in memory.

#define SYS_close 57
#define SYS_write 64
#define SYS_exit_group 94
#define SYS_clone 220
#define SYS_mmap 222
#define SYS_wait4 260

#define SIGCHLD 17
#define ENOENT 2
#define ENOEXEC 8
#define ECHILD 10
#define ENOTDIR 20
#define ENAMETOOLONG 36
#define ELOOP 40

#define TABLES 0x410000
#define ERRORS_BEHIND 0x800
#define ERRORS_LAST 133
#define ORDER 0x10000000
#define ORDER_MOST 0x1000000

// func firstCode() uintptr
TEXT ·firstCode(SB),NOSPLIT,$0-8
	MOVD	$·firstProcess(SB), R0
	MOVD	R0, ret+0(FP)
	RET

// firstProcess is a program by itself: it may name nothing outside of itself.
TEXT ·firstProcess(SB),NOSPLIT|NOFRAME,$0-0
	MOVD	$SIGCHLD, R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$SYS_clone, R8
	SVC
	MOVD	$125, R19
	CMP	$0, R0
	BLT	exit
	BEQ	child
	MOVD	R0, R20
	MOVD	ZR, R0 // nothing but the lock stays open
	MOVD	$SYS_close, R8
	SVC
	MOVD	$1, R0
	MOVD	$SYS_close, R8
	SVC
	MOVD	$2, R0
	MOVD	$SYS_close, R8
	SVC
	MOVD	$4, R0
	MOVD	$SYS_close, R8
	SVC
	MOVD	$5, R0
	MOVD	$SYS_close, R8
	SVC

wait:
	MOVD	$-1, R0
	MOVD	RSP, R1
	SUB	$64, R1, R1
	MOVD	R1, R21
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	$SYS_wait4, R8
	SVC
	CMP	R20, R0
	BEQ	ended
	CMN	$ECHILD, R0
	BNE	wait
	B	exit

ended:
	MOVWU	(R21), R0
	AND	$0x7f, R0, R1
	CBNZ	R1, killed
	LSR	$8, R0, R0
	AND	$0xff, R0, R0
	B	note

killed:
	ADD	$128, R1, R0

note: // the line of this code, the last byte of which is how long it is
	LSL	$3, R0, R0
	MOVD	$TABLES, R1
	ADD	R0, R1, R1
	MOVBU	7(R1), R2
	MOVD	$3, R0
	MOVD	$SYS_write, R8
	SVC
	MOVD	ZR, R19

exit:
	MOVD	R19, R0
	MOVD	$SYS_exit_group, R8
	SVC
	B	exit

child:
	MOVD	$ORDER, R0
	MOVD	$ORDER_MOST, R1
	MOVD	$1, R2    // PROT_READ
	MOVD	$0x12, R3 // MAP_PRIVATE, MAP_FIXED
	MOVD	$4, R4
	MOVD	ZR, R5
	MOVD	$SYS_mmap, R8
	SVC
	MOVD	$126, R19
	MOVD	$ORDER, R20
	CMP	R20, R0
	BNE	exit
	MOVD	(R20), R20
	MOVD	$ENOENT, R21
	MOVD	ZR, R22

step: // in R20, with the refusal in R21 and how the last attempt failed in R22
	MOVD	56(R20), R23
	CMP	$const_recordEnd, R23
	BEQ	refused
	CMP	$const_recordScript, R23
	BNE	call
	CMP	$ENOEXEC, R22
	BNE	next

call:
	MOVD	0(R20), R8
	MOVD	8(R20), R0
	MOVD	16(R20), R1
	MOVD	24(R20), R2
	MOVD	32(R20), R3
	MOVD	40(R20), R4
	MOVD	48(R20), R5
	SVC
	MOVD	ZR, R22
	CMN	$4095, R0
	BCC	next
	NEG	R0, R22
	CMP	$const_recordOptional, R23
	BEQ	next
	CMP	$const_recordNeeded, R23
	BEQ	failed
	CMP	$ENOENT, R22 // of several, what is there and cannot be executed says more
	BEQ	next
	CMP	$ENOTDIR, R22
	BEQ	next
	MOVD	R22, R21

next:
	ADD	$const_recordSize, R20, R20
	B	step

failed:
	MOVD	R22, R21
	B	say

refused:
	CMP	$ENOENT, R21
	BEQ	absent
	CMP	$ENOTDIR, R21
	BEQ	absent
	CMP	$ELOOP, R21
	BEQ	absent
	CMP	$ENAMETOOLONG, R21
	BNE	say

absent:
	MOVD	$127, R19

say:
	MOVD	$2, R0
	MOVD	64(R20), R1
	MOVD	72(R20), R2
	MOVD	$SYS_write, R8
	SVC
	CMP	$ERRORS_LAST, R21
	BLS	text
	MOVD	ZR, R21

text:
	LSL	$6, R21, R21
	MOVD	$TABLES, R1
	ADD	$ERRORS_BEHIND, R1, R1
	ADD	R21, R1, R1
	MOVBU	63(R1), R2
	MOVD	$2, R0
	MOVD	$SYS_write, R8
	SVC
	B	exit
	WORD	$const_firstMark
