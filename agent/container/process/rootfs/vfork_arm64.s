#include "textflag.h"

#define SYS_clone 220

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The child runs on the caller's stack until it becomes another program. The return address is in
// a register.
TEXT ·vfork(SB),NOSPLIT,$0-24
	MOVD	flags+0(FP), R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$SYS_clone, R8
	SVC
	CMN	$4095, R0
	BCS	failed
	MOVD	R0, pid+8(FP)
	MOVD	ZR, errno+16(FP)
	RET

failed:
	NEG	R0, R0
	MOVD	ZR, pid+8(FP)
	MOVD	R0, errno+16(FP)
	RET
