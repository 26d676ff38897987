// SPDX-License-Identifier: GPL-2.0
/*
 * Models: behaviour of real HCAs that consumers of verbs can observe, taken from their drivers
 * in the kernel (drivers/infiniband/hw). Documentation/fabric.rst has the same data in a table,
 * and tests/hca.sh compares the table with an HCA of each model.
 */
#include <linux/string.h>

#include "softib.h"

/* Limit of mlx5: 32768 units of 64 octets */
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
 * softib_model_word() - find the word of a node in a list
 * @names: words separated by commas, in the order of the nodes; the last word also applies to
 *	all further nodes
 * @index: number of the node, from 0
 * @len: set to the length of the word
 *
 * Return: start of the word
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
 * @names: names of models separated by commas, as in softib_model_word()
 * @index: number of the node, from 0
 *
 * Return: the model, or NULL for an unknown name
 */
const struct softib_model *softib_model_select(const char *names, int index)
{
	size_t len;

	names = softib_model_word(names, index, &len);
	return softib_model_find(names, len);
}

/* Set the knobs of a node to the values of its model. */
void softib_model_knobs(struct softib_node *node)
{
	node->srq_sge = node->model->srq_sge;
	node->csum = node->model->csum;
	node->sq_bytes = node->model->sq_bytes;
}
