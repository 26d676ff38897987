// SPDX-License-Identifier: GPL-2.0
/*
 * Models: what a consumer of verbs can notice of the HCAs that people own, by what their
 * drivers in the kernel do (drivers/infiniband/hw). Documentation/fabric.rst has the same
 * as a table, and tests/hca.sh compares it with what an HCA of each model does.
 */
#include <linux/string.h>

#include "softib.h"

/* What mlx5 takes: 32768 times 64 octets. */
#define SOFTIB_MLX5_SQ_BYTES	(32768 * 64)

static const struct softib_model softib_models[] = {
	{
		.name = "generic",
		.max_sge = SOFTIB_MAX_SGE,
		.srq_sge = SOFTIB_MAX_SGE,
		.sm_change = true,
		.sqe = true,
		.mc_loop = true,
	}, {
		.name = "mlx4",
		.max_sge = 32,
		.srq_sge = 31,
		.csum = SOFTIB_CSUM_ANY_QP,
		.mc_loop = true,
		.mc_block = true,
		.sqe = true,
		.async = true,
		.irq = true,
		.dma = true,
		.purge = true,
		.moderation = true,
		.coalesce_us = 10,
		.flush_us = 500,
	}, {
		.name = "mlx5",
		.max_sge = 30,
		.srq_sge = 31,
		.sq_bytes = SOFTIB_MLX5_SQ_BYTES,
		.csum = SOFTIB_CSUM_LSO_QP,
		.mc_loop = true,
		.mc_block = true,
		.sqe = true,
		.async = true,
		.irq = true,
		.dma = true,
		.purge = true,
		.moderation = true,
		.coalesce_us = 10,
		.flush_us = 500,
	}, {
		.name = "mlx5-enh",
		.max_sge = 30,
		.srq_sge = 31,
		.sq_bytes = SOFTIB_MLX5_SQ_BYTES,
		.csum = SOFTIB_CSUM_CLAIMED,
		.mc_loop = true,
		.mc_block = true,
		.sqe = true,
		.async = true,
		.irq = true,
		.dma = true,
		.purge = true,
		.moderation = true,
		.coalesce_us = 10,
		.flush_us = 500,
	}, {
		.name = "hfi1",
		.max_sge = SOFTIB_MAX_SGE,
		.srq_sge = SOFTIB_MAX_SGE,
		.sm_change = true,
		.async = true,
	}, {
		.name = "qib",
		.max_sge = SOFTIB_MAX_SGE,
		.srq_sge = SOFTIB_MAX_SGE,
		.vectors = 1,
		.sm_change = true,
		.async = true,
	}, {
		.name = "mthca",
		.max_sge = 29,
		.srq_sge = 27,
		.vectors = 1,
		.mc_loop = true,
		.sqe = true,
		.async = true,
		.irq = true,
		.dma = true,
		.purge = true,
		.flush_us = 500,
	},
};

static const struct softib_model *softib_model_find(const char *name,
						    size_t len)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(softib_models); i++)
		if (strlen(softib_models[i].name) == len &&
		    !strncmp(softib_models[i].name, name, len))
			return &softib_models[i];
	return NULL;
}

/**
 * softib_model_word() - find the word for a node in a list
 * @names: words with commas in between, in the order of the nodes; the last goes for all
 *	that follow
 * @index: which node, from 0
 * @len: set to the length of the word
 *
 * Return: where it begins
 */
const char *softib_model_word(const char *names, int index, size_t *len)
{
	const char *end;

	for (;;) {
		end = strchrnul(names, ',');
		if (!index-- || !*end)
			break;
		names = end + 1;
	}
	*len = end - names;
	return names;
}

/**
 * softib_model_select() - find the model of a node
 * @names: names of models with commas in between, in the order of the nodes; the last
 *	goes for all that follow
 * @index: which node, from 0
 *
 * Return: the model, or NULL if there is none of that name
 */
const struct softib_model *softib_model_select(const char *names, int index)
{
	size_t len;

	names = softib_model_word(names, index, &len);
	return softib_model_find(names, len);
}

/**
 * softib_model_knobs() - set the knobs of a node as its model has them
 * @node: the node, with its model
 */
void softib_model_knobs(struct softib_node *node)
{
	node->srq_sge = node->model->srq_sge;
	node->csum = node->model->csum;
	node->sq_bytes = node->model->sq_bytes;
}
