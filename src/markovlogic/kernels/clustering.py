"""Clusters: one pass over the points, which may open new ones (DP-means, Kulis and Jordan 2012; without a limit, k-means)."""

from markovlogic.kernels.internal import called

RELATIVE, ABSOLUTE = 1e-9, 1e-13  # squared distances that differ by less are equal: rounding must not choose between centres


@called
def assign(points, order, limit, centres, n_centres, label):
    """Put each point, in this order, into its nearest cluster, or into a new one of its own where that is too far.

    points: (n, d) float64; order: (n,) int64; limit: of squared distances; centres: (n + k, d) float64, of which the first
    n_centres are there already; label: (n,) int64, where each point was, which tells soon that others are farther; it is filled.
    The nearest centre is the first one of those that are equally near, up to rounding. Gives the number of centres afterwards.
    """
    n_features = points.shape[1]
    for at in range(order.shape[0]):
        point = order[at]
        nearest = min(label[point], n_centres - 1)
        best = 0.0
        for feature in range(n_features):
            step = points[point, feature] - centres[nearest, feature]
            best += step * step
        margin = RELATIVE * best + ABSOLUTE
        for centre in range(n_centres):
            distance = 0.0
            for feature in range(n_features):
                step = points[point, feature] - centres[centre, feature]
                distance += step * step
                if distance > best + margin:
                    break
            if distance < best - margin or (distance <= best + margin and centre < nearest):
                best, nearest = min(best, distance), centre
                margin = RELATIVE * best + ABSOLUTE
        if best > limit + RELATIVE * limit:
            for feature in range(n_features):
                centres[n_centres, feature] = points[point, feature]
            nearest = n_centres
            n_centres += 1
        label[point] = nearest
    return n_centres
