/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Functions of real numbers for the model. Those of libm depend on its version and on the CPU;
 * these add, multiply and divide only, which IEEE 754 rounds in one way. Relative error below
 * 1e-14.
 */
#ifndef JACQUARD_ENGINE_REAL_H
#define JACQUARD_ENGINE_REAL_H

double sim_log(double x); /* natural; x > 0 and normal */
double sim_exp(double x); /* 0 below -708; x <= 709 */
double sim_power(double base, double exponent); /* 0 <= base <= 1, exponent >= 0 */

#endif
