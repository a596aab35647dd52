/*
 * Two Ethernet cards, each at the other's end: `card0` and `card1`. Only for `stamps.sh` and `cards.sh`, which need what
 * neither the kernel's virtual interfaces nor QEMU's cards have:
 *
 * - They stamp packets. QEMU's cards stamp some packets of PTP alone.
 * - Their ring holds up to 4096 packets, and the driver does not use byte queue limits. The line empties it at
 *   100 Mbit/s. QEMU's cards of hardware have byte queue limits or a short ring.
 *
 * The kernel asks for stamps as it asks any driver (Documentation/networking/timestamping.rst, section 3): nothing is
 * stamped before SIOCSHWTSTAMP. The clock is the one since boot, so that no stamp can be taken for one of the kernel.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/skbuff.h>

/* Packets. */
#define MOST 4096
/* Preamble, checksum and gap, bytes. */
#define AROUND 24
/* Of one byte at 100 Mbit/s, ns. */
#define BYTE 80

struct end {
	struct net_device *dev, *other;
	struct hwtstamp_config asked;
	struct sk_buff_head ring;
	u32 length;
	bool busy;
	spinlock_t lock;
	struct hrtimer line;
};

static struct net_device *ends[2];
static struct platform_device *places[2];
static struct platform_driver driver = { .driver.name = "card" };

static u64 time_of(const struct sk_buff *skb)
{
	return (u64)(skb->len + AROUND) * BYTE;
}

/* The last bit of a packet is on the line. */
static void leave(struct end *end, struct sk_buff *skb)
{
	struct end *far = netdev_priv(end->other);
	struct skb_shared_hwtstamps now = { .hwtstamp = ktime_get() };
	struct sk_buff *arrives;

	if (skb_shinfo(skb)->tx_flags & SKBTX_IN_PROGRESS)
		skb_tstamp_tx(skb, &now);
	end->dev->stats.tx_packets++;
	end->dev->stats.tx_bytes += skb->len;
	/* The sender's stamp is in what a clone would share. */
	arrives = skb_copy(skb, GFP_ATOMIC);
	dev_consume_skb_any(skb);
	if (!arrives)
		return;
	if (far->asked.rx_filter == HWTSTAMP_FILTER_ALL)
		*skb_hwtstamps(arrives) = now;
	end->other->stats.rx_packets++;
	end->other->stats.rx_bytes += arrives->len;
	dev_forward_skb(end->other, arrives);
}

static enum hrtimer_restart card_line(struct hrtimer *line)
{
	struct end *end = container_of(line, struct end, line);
	struct sk_buff *skb, *next;

	spin_lock(&end->lock);
	skb = __skb_dequeue(&end->ring);
	next = skb_peek(&end->ring);
	end->busy = next != NULL;
	if (next)
		hrtimer_add_expires_ns(line, time_of(next));
	if (netif_queue_stopped(end->dev) && skb_queue_len(&end->ring) < end->length)
		netif_wake_queue(end->dev);
	spin_unlock(&end->lock);
	if (skb)
		leave(end, skb);
	return next ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static netdev_tx_t card_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct end *end = netdev_priv(dev);

	if (end->asked.tx_type == HWTSTAMP_TX_ON && (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP))
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
	skb_tx_timestamp(skb);
	spin_lock(&end->lock);
	__skb_queue_tail(&end->ring, skb);
	if (skb_queue_len(&end->ring) >= end->length)
		netif_stop_queue(dev);
	if (!end->busy) {
		end->busy = true;
		hrtimer_start(&end->line, ns_to_ktime(time_of(skb)), HRTIMER_MODE_REL_SOFT);
	}
	spin_unlock(&end->lock);
	return NETDEV_TX_OK;
}

static int card_open(struct net_device *dev)
{
	netif_start_queue(dev);
	return 0;
}

static int card_stop(struct net_device *dev)
{
	struct end *end = netdev_priv(dev);

	netif_stop_queue(dev);
	hrtimer_cancel(&end->line);
	skb_queue_purge(&end->ring);
	end->busy = false;
	return 0;
}

static int card_ioctl(struct net_device *dev, struct ifreq *ifr, int cmd)
{
	struct end *end = netdev_priv(dev);

	if (cmd == SIOCSHWTSTAMP) {
		if (copy_from_user(&end->asked, ifr->ifr_data, sizeof(end->asked)))
			return -EFAULT;
		if (end->asked.rx_filter != HWTSTAMP_FILTER_NONE)
			end->asked.rx_filter = HWTSTAMP_FILTER_ALL;
	} else if (cmd != SIOCGHWTSTAMP) {
		return -EOPNOTSUPP;
	}
	return copy_to_user(ifr->ifr_data, &end->asked, sizeof(end->asked)) ? -EFAULT : 0;
}

static int card_can(struct net_device *dev, struct ethtool_ts_info *info)
{
	info->so_timestamping = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
				SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
				SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	info->phc_index = -1;
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_ALL);
	return 0;
}

static int card_speed(struct net_device *dev, struct ethtool_link_ksettings *known)
{
	known->base.speed = SPEED_100;
	known->base.duplex = DUPLEX_FULL;
	return 0;
}

static void card_ring(struct net_device *dev, struct ethtool_ringparam *ring, struct kernel_ethtool_ringparam *more,
		      struct netlink_ext_ack *ack)
{
	ring->tx_max_pending = MOST;
	ring->tx_pending = ((struct end *)netdev_priv(dev))->length;
}

static int card_set_ring(struct net_device *dev, struct ethtool_ringparam *ring, struct kernel_ethtool_ringparam *more,
			 struct netlink_ext_ack *ack)
{
	if (!ring->tx_pending)
		return -EINVAL;
	((struct end *)netdev_priv(dev))->length = ring->tx_pending;
	return 0;
}

static const struct net_device_ops card_ops = {
	.ndo_open = card_open,
	.ndo_stop = card_stop,
	.ndo_start_xmit = card_xmit,
	.ndo_eth_ioctl = card_ioctl,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static const struct ethtool_ops card_ethtool = {
	.get_link = ethtool_op_get_link,
	.get_ts_info = card_can,
	.get_link_ksettings = card_speed,
	.get_ringparam = card_ring,
	.set_ringparam = card_set_ring,
};

static void card_setup(struct net_device *dev)
{
	struct end *end = netdev_priv(dev);

	ether_setup(dev);
	dev->netdev_ops = &card_ops;
	dev->ethtool_ops = &card_ethtool;
	eth_hw_addr_random(dev);
	end->dev = dev;
	__skb_queue_head_init(&end->ring);
	end->length = MOST;
	spin_lock_init(&end->lock);
	hrtimer_init(&end->line, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	end->line.function = card_line;
}

static void card_exit(void)
{
	int i;

	for (i = 0; i < 2; i++)
		if (ends[i] && ends[i]->reg_state == NETREG_REGISTERED)
			unregister_netdev(ends[i]);
	for (i = 0; i < 2; i++) {
		if (ends[i])
			free_netdev(ends[i]);
		if (!IS_ERR_OR_NULL(places[i]))
			platform_device_unregister(places[i]);
	}
	platform_driver_unregister(&driver);
}

static int __init card_init(void)
{
	int i, error = platform_driver_register(&driver);

	if (error)
		return error;
	for (i = 0; i < 2; i++) {
		places[i] = platform_device_register_simple("card", i, NULL, 0);
		error = PTR_ERR_OR_ZERO(places[i]);
		if (error)
			goto failed;
		error = -ENOMEM;
		ends[i] = alloc_netdev(sizeof(struct end), "card%d", NET_NAME_ENUM, card_setup);
		if (!ends[i])
			goto failed;
		SET_NETDEV_DEV(ends[i], &places[i]->dev);
	}
	for (i = 0; i < 2; i++) {
		((struct end *)netdev_priv(ends[i]))->other = ends[1 - i];
		error = register_netdev(ends[i]);
		if (error)
			goto failed;
	}
	return 0;
failed:
	card_exit();
	return error;
}

module_init(card_init);
module_exit(card_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A pair of cards with stamps and a long ring, for the tests of Goodqueue");
