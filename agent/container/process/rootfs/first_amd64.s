#include "go_asm.h"
#include "textflag.h"

// See first.go for what this is, and for the places in memory.

#define SYS_write 1
#define SYS_close 3
#define SYS_mmap 9
#define SYS_clone 56
#define SYS_wait4 61
#define SYS_exit_group 231

#define SIGCHLD 17
#define ENOENT 2
#define ENOEXEC 8
#define ECHILD 10
#define ENOTDIR 20
#define ENAMETOOLONG 36
#define ELOOP 40

#define TABLES 0x410000
#define ERRORS 0x410800
#define ERRORS_LAST 133
#define ORDER 0x10000000
#define ORDER_MOST 0x1000000

// func firstCode() uintptr
TEXT ·firstCode(SB),NOSPLIT,$0-8
	LEAQ	·firstProcess(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// firstProcess is a program by itself: it may name nothing outside of itself.
TEXT ·firstProcess(SB),NOSPLIT|NOFRAME,$0-0
	MOVL	$SIGCHLD, DI
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$SYS_clone, AX
	SYSCALL
	MOVL	$125, BX
	CMPQ	AX, $0
	JLT	exit
	JEQ	child
	MOVQ	AX, R12
	XORL	DI, DI // nothing but the lock stays open
	MOVL	$SYS_close, AX
	SYSCALL
	MOVL	$1, DI
	MOVL	$SYS_close, AX
	SYSCALL
	MOVL	$2, DI
	MOVL	$SYS_close, AX
	SYSCALL
	MOVL	$4, DI
	MOVL	$SYS_close, AX
	SYSCALL
	MOVL	$5, DI
	MOVL	$SYS_close, AX
	SYSCALL

wait:
	MOVQ	$-1, DI
	MOVQ	SP, SI
	SUBQ	$64, SI
	XORL	DX, DX
	XORL	R10, R10
	MOVL	$SYS_wait4, AX
	SYSCALL
	CMPQ	AX, R12
	JEQ	ended
	CMPQ	AX, $-ECHILD
	JNE	wait
	JMP	exit

ended:
	MOVL	(SI), AX
	MOVL	AX, SI
	ANDL	$0x7f, SI
	JNE	killed
	SHRL	$8, AX
	ANDL	$0xff, AX
	JMP	note

killed:
	MOVL	SI, AX
	ADDL	$128, AX

note: // the line of this code, the last byte of which is how long it is
	SHLQ	$3, AX
	MOVL	$TABLES, SI
	ADDQ	AX, SI
	MOVBLZX	7(SI), DX
	MOVL	$3, DI
	MOVL	$SYS_write, AX
	SYSCALL
	XORL	BX, BX

exit:
	MOVL	BX, DI
	MOVL	$SYS_exit_group, AX
	SYSCALL
	JMP	exit

child:
	MOVL	$ORDER, DI
	MOVL	$ORDER_MOST, SI
	MOVL	$1, DX     // PROT_READ
	MOVL	$0x12, R10 // MAP_PRIVATE, MAP_FIXED
	MOVL	$4, R8
	XORL	R9, R9
	MOVL	$SYS_mmap, AX
	SYSCALL
	MOVL	$126, BX
	CMPQ	AX, $ORDER
	JNE	exit
	MOVQ	(AX), R12
	MOVL	$ENOENT, R13
	XORL	R14, R14

step: // in R12, with the refusal in R13 and how the last attempt failed in R14
	MOVQ	56(R12), R15
	CMPQ	R15, $const_recordEnd
	JEQ	refused
	CMPQ	R15, $const_recordScript
	JNE	call
	CMPQ	R14, $ENOEXEC
	JNE	next

call:
	MOVQ	0(R12), AX
	MOVQ	8(R12), DI
	MOVQ	16(R12), SI
	MOVQ	24(R12), DX
	MOVQ	32(R12), R10
	MOVQ	40(R12), R8
	MOVQ	48(R12), R9
	SYSCALL
	XORL	R14, R14
	CMPQ	AX, $-4095
	JCS	next
	NEGQ	AX
	MOVQ	AX, R14
	CMPQ	R15, $const_recordOptional
	JEQ	next
	CMPQ	R15, $const_recordNeeded
	JEQ	failed
	CMPQ	R14, $ENOENT // of several, what is there and cannot be executed says more
	JEQ	next
	CMPQ	R14, $ENOTDIR
	JEQ	next
	MOVQ	R14, R13

next:
	ADDQ	$const_recordSize, R12
	JMP	step

failed:
	MOVQ	R14, R13
	JMP	say

refused:
	CMPQ	R13, $ENOENT
	JEQ	absent
	CMPQ	R13, $ENOTDIR
	JEQ	absent
	CMPQ	R13, $ELOOP
	JEQ	absent
	CMPQ	R13, $ENAMETOOLONG
	JNE	say

absent:
	MOVL	$127, BX

say:
	MOVL	$2, DI
	MOVQ	64(R12), SI
	MOVQ	72(R12), DX
	MOVL	$SYS_write, AX
	SYSCALL
	CMPQ	R13, $ERRORS_LAST
	JLS	text
	XORL	R13, R13

text:
	SHLQ	$6, R13
	MOVL	$ERRORS, SI
	ADDQ	R13, SI
	MOVBLZX	63(SI), DX
	MOVL	$2, DI
	MOVL	$SYS_write, AX
	SYSCALL
	JMP	exit
	LONG	$const_firstMark
